"""One run in several processes: the same numbers as one process makes, one end for all, nothing left behind."""
import fcntl
import json
import os
import pathlib
import re
import resource
import signal
import struct
import time
import unittest

from support import ExprunTest, children, tensors

# Dropout and several micro-batches: a rank's share of samples and random numbers must be the one process's.
WORDS = ("tiny.toml", "sequences=24", "micro_batch=2", "model.dropout=0.1", "max_grad_norm=1.0",
         "evaluation.val_loss.every='10 steps'")
ENDLESS = ("tiny.toml", "steps=100000000", "checkpoint.every='1000000 steps'", "world_size=2")


class Ranks(ExprunTest):
    def train(self, world_size, *words):
        """The series of a new run, and its last checkpoint's tensors."""
        self.exprun(*WORDS, f"world_size={world_size}", f"run.name=\"of{world_size}\"", *words)
        series = self.rows("SELECT name, step, value FROM metrics JOIN series USING (run, name) "
                           "WHERE NOT timing AND run = (SELECT max(run) FROM runs) ORDER BY name, step")
        ((last,),) = self.rows("SELECT last_step FROM runs ORDER BY run DESC LIMIT 1")
        return series, tensors(self.run_folder() / f"checkpoints/step_{last:08d}/model.safetensors")

    def assert_close(self, one, several):
        self.assertEqual([row[:2] for row in one], [row[:2] for row in several])
        for (name, step, expected), (_, _, found) in zip(one, several):
            self.assertLess(abs(found - expected), 1e-5 * abs(expected), f"{name} of step {step}")

    def test_they_make_the_numbers_of_one_process(self):
        one, _ = self.train(1)
        for world_size, strategy in ((2, "zero1"), (3, "ddp"), (4, "zero1")):
            with self.subTest(world_size=world_size):
                self.assert_close(one, self.train(world_size, f"strategy={strategy}")[0])

    def test_samples_are_of_whole_weights_while_they_are_gathered(self):
        texts = []
        for strategy in "ddp", "zero1":
            self.exprun(*WORDS, "world_size=2", f"strategy={strategy}", f"name={strategy}", "steps=12", "hidden_size=256",
                        "num_layers=4", "~evaluation.val_loss", "evaluation.sample={every='1 steps', tokens=12, temperature=0.0}",
                        "metrics.val_loss=false")
            texts.append({file.name: file.read_text() for file in sorted((self.run_folder() / "samples").iterdir())})
        self.assertGreater(len(texts[0]), 10)
        self.assertEqual(*texts)

    def test_a_run_goes_on_with_another_number_of_ranks(self):
        for attempt, words in enumerate((("world_size=3", "strategy=zero1"), ("world_size=2",)), start=1):
            process = self.start(*WORDS, "run.name=\"moved\"", "steps=150", *words)
            self.wait_for_step(40 * attempt, process)
            process.send_signal(signal.SIGINT)
            self.assertEqual(self.finish(process).code, 130)
        result = self.exprun(*WORDS, "run.name=\"moved\"", "steps=150", "world_size=4", "strategy=zero1")
        self.assertIn("results may not be bit-identical to those of an uninterrupted run; the world size was 2 and is now 4; "
                      "the strategy was ddp and is now zero1\n", result.err)
        moved = self.rows("SELECT name, step, value FROM metrics JOIN series USING (run, name) "
                          "WHERE NOT timing ORDER BY name, step")
        self.assert_close(self.train(1, "steps=150")[0], moved)

    def test_the_peak_that_is_shown_is_that_of_the_ranks_cores(self):
        if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
            return  # no peak is known
        said = self.exprun("-v", "tiny.toml", "steps=1", "world_size=2", "run.threads=4").err
        shown = re.search(r"peak ([\d.]+) TFLOP/s, estimated: fp32, (2 ranks x (\d+) cores? x ([\d.]+) GHz x 2 units x 2 operations x (\d+) lanes)", said)
        peak, cores, gigahertz, lanes = (float(shown[group]) for group in (1, 3, 4, 5))
        self.assertAlmostEqual(peak, 2 * cores * gigahertz * 4 * lanes / 1e3, delta=1e-3 * peak)
        self.assertLessEqual(cores, max(1, os.cpu_count() // 2))

    def test_a_run_of_ranks_repeats_to_the_bit(self):
        first = self.train(2)
        self.assertEqual(first, self.train(2, "--new"))

    def test_killed_and_continued_it_ends_with_the_same_bits(self):
        words = ("steps=160", "checkpoint.every='20 steps'", "strategy=zero1")
        whole = self.train(2, *words)
        (self.folder / "runs").rename(self.folder / "whole")
        for rank in (0, 1):
            process = self.start(*WORDS, "world_size=2", 'run.name="of2"', *words)
            self.wait_for_step(max(self.last_step(), 0) + 40, process)
            os.kill(children(process.pid)[rank], signal.SIGKILL)
            self.assertEqual(self.finish(process).code, 128 + signal.SIGKILL)
            self.assertEqual(self.rows("SELECT state, message FROM runs"),
                             [("killed", f"rank {rank}: ended by SIGKILL (kill -9, or out of memory)")])
        self.assertEqual(whole, self.train(2, *words))
        self.assertEqual(self.rows("SELECT count(*), max(attempt) FROM runs"), [(1, 3)])

    def test_rank_0_measures_kernels_before_the_first_step_and_the_run_keeps_them(self):
        first = self.train(2, "deterministic=false")
        own = json.loads((self.run_folder() / "kernels.json").read_text())
        cache = self.folder / "cache/exprun/kernels.json"
        (measured,) = json.loads(cache.read_text()).values()
        # What only evaluations compute was not measured: it is in the run's choices alone.
        self.assertEqual({key: own[key] for key in measured}, measured)
        self.assertIn("forward 32x16x48", own)  # a micro-batch of two sequences
        self.assertEqual(first, self.train(2, "deterministic=false", "--new"))
        self.assert_close(self.train(1, "deterministic=false")[0], first[0])

    def begin(self, *words):
        process = self.start(*ENDLESS, *words)
        self.wait_for_step(20, process)
        self.ranks = children(process.pid)
        self.assertEqual(len(self.ranks), 2)
        return process

    def assert_gone(self):
        for pid in self.ranks:
            self.assertFalse(pathlib.Path(f"/proc/{pid}/exe").exists(), f"rank process {pid} lives")

    def test_a_signal_stops_all_at_one_step(self):
        process = self.begin()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)
        self.assertEqual(self.state(), "interrupted")
        ((step,),) = self.rows("SELECT last_step FROM runs")
        self.assertTrue((self.run_folder() / f"checkpoints/step_{step:08d}/MANIFEST.json").exists())
        self.assert_gone()

    def test_a_signal_to_one_rank_stops_all(self):
        process = self.begin()
        os.kill(self.ranks[1], signal.SIGTERM)
        self.assertEqual(self.finish(process).code, 143)
        self.assertEqual(self.state(), "interrupted")
        self.assert_gone()

    def test_a_rank_that_is_killed_ends_all_and_is_named(self):
        process = self.begin()
        os.kill(self.ranks[1], signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual(result.code, 128 + signal.SIGKILL)
        self.assertEqual(self.rows("SELECT state, message FROM runs"),
                         [("killed", "rank 1: ended by SIGKILL (kill -9, or out of memory)")])
        self.assertIn("exprun: error: rank 1: ended by SIGKILL (kill -9, or out of memory)\n  the last lines of ", result.err)
        self.assertNotRegex(result.err, r"c10d|frame #|\.cpp")
        self.assert_gone()

    def address_space(self, pid):
        time.sleep(0.005)
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()

    def starve(self, rank):
        """Lets a rank have hardly more memory than it has at its least, which is between steps, when an evaluation has
        given back what is kept; in a step its logits alone take 60 MB."""
        process = self.start(*ENDLESS, "model.context_length=64", "sequences=4096", "micro_batch=2048",
                             "evaluation.val_loss.every='1 steps'")
        self.wait_for_step(2, process)
        self.ranks = children(process.pid)
        least = min(self.address_space(self.ranks[rank]) for _ in range(200)) + (8 << 20)
        resource.prlimit(self.ranks[rank], resource.RLIMIT_AS, (least, least))
        result = self.finish(process)
        self.assertEqual(result.code, 1)
        ((state, message),) = self.rows("SELECT state, message FROM runs")
        self.assertEqual(state, "failed")
        self.assertRegex(message, f"^rank {rank}: memory: .*; lower batch.micro_batch or the model's size, or set ")
        self.assert_gone()

    def test_a_rank_that_has_no_memory_ends_all_and_is_named(self):
        self.starve(1)

    def test_rank_0_that_has_no_memory_ends_all_and_says_so(self):
        self.starve(0)

    def hang(self, rank):
        process = self.begin("timeout='10 s'")
        os.kill(self.ranks[rank], signal.SIGSTOP)
        result = self.finish(process)
        self.assertEqual(result.code, 1)
        ((state, message),) = self.rows("SELECT state, message FROM runs")
        self.assertEqual(state, "failed")
        self.assertRegex(message, f"dist: rank {1 - rank} lost contact with the other ranks in all-reduce: .*; "
                                  f"rank {rank} does not respond: it hangs or is no longer running$")
        self.assert_gone()

    def test_a_rank_that_hangs_ends_all_and_is_named(self):
        self.hang(1)

    def test_rank_0_that_hangs_ends_all_and_is_named(self):
        self.hang(0)

    def test_a_last_save_may_take_longer_than_an_exchange(self):
        process = self.start(*WORDS, "world_size=2", "steps=200", "timeout='5 s'", "checkpoint.every='1000 steps'",
                             "evaluation.val_loss.every='1000 steps'")
        self.wait_for_step(20, process)
        with open(self.folder / "runs/exprun.db.lock", "r+b") as lock:  # no checkpoint is saved before its metrics are
            fcntl.fcntl(lock, fcntl.F_OFD_SETLKW, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0))
            time.sleep(12)
        result = self.finish(process)
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(self.state(), "finished")

    def test_ranks_are_restarted_as_often_as_the_recipe_says(self):
        words = ("steps=160", "checkpoint.every='20 steps'", "max_restarts=1")
        process = self.start(*WORDS, "world_size=2", 'run.name="of2"', *words)
        self.wait_for_step(60, process)
        first = children(process.pid)
        os.kill(first[1], signal.SIGKILL)
        self.wait_until(lambda: self.rows("SELECT attempt FROM runs") == [(2,)], process)
        result = self.finish(process)
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("exprun: warning: launch: restart 1 of 1 of all ranks\n", result.err)
        self.assertEqual(self.rows("SELECT state, attempt FROM runs"), [("finished", 2)])
        series = self.rows("SELECT name, step, value FROM metrics JOIN series USING (run, name) "
                           "WHERE NOT timing ORDER BY name, step")
        self.assertEqual(series, self.train(2, "steps=160", "--new")[0])

    def test_an_elastic_run_goes_on_with_fewer_ranks(self):
        words = ("steps=160", "checkpoint.every='20 steps'", "max_restarts=2", "elastic=true", "strategy=zero1")
        process = self.start(*WORDS, "world_size=3", 'run.name="elastic"', *words)
        for attempt in (1, 2):
            self.wait_until(lambda: self.rows("SELECT attempt FROM runs") == [(attempt,)] if self.last_step() >= 0
                            else False, process)
            self.wait_for_step(40 * attempt, process)
            os.kill(children(process.pid)[-1], signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("launch: restart 1 of 2 of all ranks, now 2\n", result.err)
        self.assertIn("launch: restart 2 of 2 of all ranks, now 1\n", result.err)
        self.assertEqual(self.rows("SELECT state, attempt FROM runs"), [("finished", 3)])
        elastic = self.rows("SELECT name, step, value FROM metrics JOIN series USING (run, name) "
                            "WHERE NOT timing ORDER BY name, step")
        self.assert_close(self.train(1, "steps=160")[0], elastic)

    def test_a_launcher_that_is_killed_leaves_no_rank(self):
        process = self.begin()
        process.kill()
        self.finish(process)
        self.wait_until_gone()
        self.assertIn("interrupted", self.exprun("ls").out)

    def wait_until_gone(self):
        late = time.monotonic() + self.timeout
        while any(pathlib.Path(f"/proc/{pid}/exe").exists() for pid in self.ranks):
            self.assertLess(time.monotonic(), late, "a rank outlives its launcher")
            time.sleep(0.02)


if __name__ == "__main__":
    unittest.main()
