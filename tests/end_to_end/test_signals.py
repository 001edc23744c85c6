"""A run that is stopped, killed or diverges ends in the right state and continues from there."""
import fcntl
import json
import os
import shutil
import signal
import time
import unittest

from support import TINY, ExprunTest, children, flip_a_bit

ENDLESS = ("tiny.toml", "steps=100000000", "checkpoint.every='1000000 steps'")


class Signals(ExprunTest):
    def begin(self, *words):
        process = self.start(*(words or ENDLESS))
        self.wait_for_step(20, process)
        return process

    def stop(self, process, number):
        process.send_signal(number)
        return self.finish(process)

    def assert_saved(self, state):
        ((folder, last_step),) = self.rows("SELECT folder, last_step FROM runs")
        self.assertEqual(self.state(), state)
        checkpoint = self.folder / "runs" / folder / f"checkpoints/step_{last_step:08d}"
        self.assertTrue((checkpoint / "MANIFEST.json").exists(), f"{checkpoint} is not complete")
        return last_step

    def last_saved(self):
        return self.rows("SELECT last_step FROM runs")[0][0]

    def continue_for(self, steps):
        """The same command again, with cadences that do not change the run, until it went on by so many steps."""
        before = self.last_saved()
        process = self.start(*ENDLESS)
        self.wait_for_step(before + steps, process)
        self.stop(process, signal.SIGINT)
        self.assertEqual(self.rows("SELECT count(*), max(attempt) FROM runs"), [(1, 2)])

    def test_sigint_saves_and_the_same_command_continues(self):
        self.assertEqual(self.stop(self.begin(), signal.SIGINT).code, 130)
        step = self.assert_saved("interrupted")
        self.continue_for(20)
        self.assertEqual(self.rows("SELECT from_step FROM attempt ORDER BY attempt"), [(0,), (step,)])

    def test_a_run_continues_with_its_prepared_tokens_where_its_text_is_gone(self):
        self.stop(self.begin(), signal.SIGINT)
        text = self.folder / "text.txt"
        kept = text.rename(self.folder / "kept.txt")
        for command in (["resume", "@last"], ENDLESS):
            process = self.start(*command)
            self.wait_for_step(self.last_saved() + 20, process)
            said = self.stop(process, signal.SIGINT).err
            self.assertIn(f"exprun: warning: data: text.txt is gone; training uses the prepared tokens of {self.run_folder().name}\n", said)
        text.write_text(kept.read_text() + "more")
        said = self.exprun("resume", "@last", code=1).err
        self.assertIn("text.txt has changed since), or this version of exprun prepares it differently; bring the old data back, move the "
                      "changed text away (the run then continues with its prepared tokens), continue with the version that began "
                      "it, or start a new run: ", said)
        text.unlink()
        shutil.rmtree(self.folder / "runs/data")
        self.assertIn("'text.txt' does not exist\n", self.exprun("resume", "@last", code=2).err)

    def test_of_several_texts_one_may_be_gone(self):
        (self.folder / "texts").mkdir()
        for name in "ab":
            shutil.copy(self.folder / "text.txt", self.folder / f"texts/{name}.txt")
        command = (*ENDLESS, "path='texts/*.txt'")
        self.stop(self.begin(*command), signal.SIGINT)
        (self.folder / "texts/b.txt").unlink()
        for again in (["resume", "@last"], command):
            process = self.start(*again)
            self.wait_for_step(self.last_saved() + 20, process)
            said = self.stop(process, signal.SIGINT).err
            self.assertIn(f"data: texts/b.txt is gone; training uses the prepared tokens of {self.run_folder().name}\n", said)
        self.write("texts/c.txt", "Another text.")
        process = self.start(*command)
        self.wait_for_step(self.last_saved() + 20, process)
        said = self.stop(process, signal.SIGINT).err
        self.assertIn(f"data: texts/b.txt is gone, texts/c.txt is new; training uses the prepared tokens of "
                      f"{self.run_folder().name}\n", said)
        self.assertEqual(len(list(self.folder.glob("runs/data/*/data.json"))), 1)
        with open(self.folder / "texts/a.txt", "a") as text:
            text.write("more")
        said = self.exprun("--store", "./runs", "resume", "@last", "steps=200000000", code=1).err
        self.assertIn("; texts/a.txt has changed since; texts/b.txt is gone; texts/c.txt is new), or", said)
        self.assertTrue(said.endswith(f" or start a new run: exprun rerun {self.run_folder().name} steps=200000000 --store ./runs\n"), said)

    def test_a_run_goes_on_without_files_that_were_added(self):
        (self.folder / "texts").mkdir()
        shutil.copy(self.folder / "text.txt", self.folder / "texts/a.txt")
        command = (*ENDLESS, "path='texts/*.txt'")
        self.stop(self.begin(*command), signal.SIGINT)
        self.write("texts/b.txt", "Another text.")
        for again in (["resume", "@last"], command):
            process = self.start(*again)
            self.wait_for_step(self.last_saved() + 20, process)
            said = self.stop(process, signal.SIGINT).err
            name = self.run_folder().name
            self.assertIn(f"exprun: warning: data: texts/b.txt is new; {name} continues without it\n", said)
        self.assertEqual(len(list(self.folder.glob("runs/data/*/data.json"))), 1)
        with open(self.folder / "texts/a.txt", "a") as text:
            text.write("more")
        self.assertIn("; texts/a.txt has changed since; texts/b.txt is new), or", self.exprun("resume", "@last", code=1).err)

    def test_a_run_goes_on_without_shards_that_were_added(self):
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=byte", "--out", "made")
        shards = TINY.replace('type = "text"\npath = "text.txt"\ntokenizer = "char"',
                              'type = "token_shards"\ntrain = "made/train_*.bin"')
        self.write("tiny.toml", shards)
        command = (*ENDLESS, "vocab_size=256")
        self.stop(self.begin(*command), signal.SIGINT)
        shutil.copy(self.folder / "made/train_000000.bin", self.folder / "made/train_000001.bin")
        flip_a_bit(self.folder / "made/train_000001.bin")  # the same shard by another name is the same data
        process = self.start("resume", "@last")
        self.wait_for_step(self.last_saved() + 20, process)
        said = self.stop(process, signal.SIGINT).err
        self.assertIn(f"exprun: warning: data: made/train_000001.bin is new; {self.run_folder().name} continues without it\n", said)
        (self.folder / "made/train_000000.bin").unlink()
        said = self.exprun("resume", "@last", code=1).err
        self.assertIn(f"; {self.folder}/made/train_000000.bin is gone; {self.folder}/made/train_000001.bin is new), or", said)

    def test_a_closed_pipe_does_not_change_how_a_run_ends(self):
        for words in (["tiny.toml"], ["sweep", "tiny.toml", "lr=1e-3,1e-2"]):
            process = self.start(*words)
            process.stdout.close()
            process.stderr.close()
            self.assertEqual(process.wait(self.timeout), 0, words)
        self.assertEqual(self.rows("SELECT DISTINCT state FROM runs"), [("finished",)])

    def test_where_it_is_saved_is_said_from_where_the_user_stands(self):
        saved = self.stop(self.begin(), signal.SIGINT).err
        name = self.run_folder().name
        self.assertIn(f"exprun: saved in runs/{name}/checkpoints/step_{self.last_saved():08}\n", saved)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        for store in ("../runs", str(self.folder / "runs")):
            process = self.start("--store", store, "resume", "@last", cwd=elsewhere)
            self.wait_for_step(self.last_saved() + 20, process)
            said = self.stop(process, signal.SIGINT).err
            self.assertIn(f"exprun: saved in {store}/{name}/checkpoints/step_{self.last_saved():08}\n", said)

    def test_show_knows_what_the_newest_attempt_was_asked_to_do(self):
        self.stop(self.begin(), signal.SIGINT)
        before = self.exprun("show", "@last").out
        process = self.start("resume", "@last", "checkpoint.every=123456 steps")
        self.wait_for_step(self.last_saved() + 20, process)
        self.stop(process, signal.SIGINT)
        now = self.exprun("show", "@last").out
        self.assertNotIn('"123456 steps"', before)
        self.assertIn('\nevery = "123456 steps"\n', now[now.index("\n[checkpoint]"):])
        self.assertEqual(json.loads(self.exprun("show", "@last", "--json").out)["recipe"]["checkpoint"]["every"], "123456 steps")
        self.assertRegex(self.exprun("show", "@last", "--origin").out, r'(?m)^checkpoint\.every +"?123456 steps"? ')

    def test_a_damaged_checkpoint_is_passed_over(self):
        self.stop(self.begin("tiny.toml", "steps=100000000", "checkpoint.every='10 steps'"), signal.SIGINT)
        before, newest = sorted((self.run_folder() / "checkpoints").iterdir())[-2:]
        flip_a_bit(newest / "model.safetensors")
        process = self.start("resume", "@last")
        self.wait_until(lambda: self.rows("SELECT max(attempt) FROM runs") == [(2,)], process)
        said = self.stop(process, signal.SIGINT).err
        self.assertTrue(said.startswith(f"exprun: warning: skipped a checkpoint: {newest.name}: model.safetensors has other "
                                        "content than the manifest says\n"), said)
        self.assertIn(f" (interrupted) from step {int(before.name.removeprefix('step_'))} of ", said)

    def test_a_signal_while_the_trainer_loads_is_not_lost(self):
        process = self.start(*ENDLESS)
        while not children(process.pid):
            self.assertIsNone(process.poll())
        self.assertEqual(self.stop(process, signal.SIGINT).code, 130)
        self.assertEqual(self.state(), "interrupted")
        self.continue_for(20)

    def test_sigterm_saves(self):
        self.assertEqual(self.stop(self.begin(), signal.SIGTERM).code, 143)
        self.assert_saved("interrupted")

    def test_control_c_reaches_the_whole_group_once(self):
        process = self.begin()
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)
        self.assert_saved("interrupted")

    def test_sigusr2_saves_and_asks_to_be_run_again(self):
        self.assertEqual(self.stop(self.begin(), signal.SIGUSR2).code, 75)
        self.assert_saved("preempted")

    def test_a_second_signal_ends_at_once_and_for_good(self):
        process = self.begin(*ENDLESS, "max_restarts=3")
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        # Which of the two is seen first is the kernel's choice.
        self.assertIn(self.finish(process).code, (130, 143))
        # A run that saved first would be interrupted, one that was restarted have another attempt.
        self.assertEqual(self.rows("SELECT state, attempt FROM runs"), [("killed", 1)])

    def test_a_signal_that_arrives_twice_at_once_is_one_request(self):
        process = self.begin()
        for _ in range(2):  # as `timeout` does: to the process and to its group
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        self.assertEqual(self.finish(process).code, 130)
        self.assert_saved("interrupted")

    def test_a_launcher_killed_with_its_trainer_leaves_a_crash_that_continues(self):
        process = self.begin()
        (trainer,) = children(process.pid)
        process.send_signal(signal.SIGSTOP)  # so that it does not see how its trainer ends
        for pid in (trainer, process.pid):
            os.kill(pid, signal.SIGKILL)
        self.finish(process)
        self.assertIn("crashed", self.exprun("ls").out)
        self.assertRegex(self.exprun("show", "@last", "--attempts").out, r"\n +1 +0 +\d+  crashed ")
        (attempt,) = json.loads(self.exprun("show", "@last", "--json").out)["attempts"]
        self.assertEqual((attempt["state"], attempt["message"]), ("crashed", "its process ended without recording why"))
        self.continue_for(20)

    def test_a_killed_trainer_is_seen_by_its_launcher(self):
        process = self.begin()
        (trainer,) = children(process.pid)
        os.kill(trainer, signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual((result.code, self.state()), (137, "killed"))
        self.assertIn(f"; exprun resume {self.run_folder().name} trains it again from the start: it has no checkpoint", result.err)
        self.assertEqual(self.rows("SELECT signal FROM runs"), [(9,)])
        self.continue_for(20)

    def test_a_trainer_does_not_outlive_its_launcher_but_saves_and_records_that(self):
        process = self.begin()
        (trainer,) = children(process.pid)
        process.kill()
        process.communicate()
        late = time.monotonic() + self.timeout
        while alive(trainer):
            self.assertLess(time.monotonic(), late, "the trainer still runs")
            time.sleep(0.02)
        self.assert_saved("interrupted")
        self.assertEqual(self.rows("SELECT exit_code FROM attempt"), [(143,)])
        self.continue_for(20)

    def test_a_command_waits_for_a_trainer_that_has_lost_its_launcher(self):
        for words in (ENDLESS, ("resume", "@last")):
            before = 0 if words == ENDLESS else self.last_saved()
            process = self.start(*words)
            self.wait_for_step(before + 20, process)
            (trainer,) = children(process.pid)
            os.kill(trainer, signal.SIGSTOP)  # so that it is still there
            process.kill()
            process.wait()
            process = self.start(*words)
            said = process.stderr.readline()
            self.assertRegex(said, rf"exprun: waiting until tiny-\w+ has ended: its launcher \(process \d+ on .*\) is gone, and its trainer saves\n")
            os.kill(trainer, signal.SIGCONT)
            self.wait_until(lambda: self.state() == "running" and not alive(trainer), process)
            self.wait_for_step(self.last_saved() + 20, process)
            self.assertRegex(self.stop(process, signal.SIGINT).err, r"\Aexprun: continuing tiny-\w+ \(interrupted\) from step \d+ of")
        self.assertEqual(self.rows("SELECT count(*), max(attempt) FROM runs"), [(1, 4)])

    def test_a_running_recipe_is_not_started_again(self):
        process = self.begin()
        result = self.exprun(*ENDLESS, code=1)
        self.assertIn("is running", result.err)
        self.assertIn(str(process.pid), result.err)

    def test_a_launch_that_waits_for_another_can_be_stopped_and_preempted(self):
        (self.folder / "runs").mkdir()
        with open(self.folder / "runs/launch.lock", "w", encoding="ascii") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            for number, code in ((signal.SIGINT, -signal.SIGINT), (signal.SIGUSR2, 75)):
                process = self.start("tiny.toml")
                self.wait_until(lambda: has_waiter(lock), process)
                self.assertEqual(self.stop(process, number).code, code)
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(0,)])

    def test_a_diverged_loss_stops_the_run(self):
        self.exprun("tiny.toml", "lr=1e30", "max_grad_norm=0", code=3)
        self.assertEqual(self.state(), "diverged")
        result = self.exprun("tiny.toml", "lr=1e30", "max_grad_norm=0", code=1)
        self.assertRegex(result.err, r"\n  exprun rerun tiny-\w+ lr=\.\.\.   trains it again with a change\n  --new   starts another run\n$")

    def test_a_run_that_has_lost_its_checkpoints_does_not_begin_again_unasked(self):
        for ending, words in (signal.SIGINT, ()), (signal.SIGKILL, ("checkpoint.every=2 steps",)):
            with self.subTest(signal=ending):
                process = self.start("tiny.toml", "steps=1000000", *words, "--store", ending.name)
                self.wait_for_step(5, process, store=ending.name)
                os.killpg(process.pid, ending)
                self.finish(process)
                (run,) = [path for path in (self.folder / ending.name).glob("tiny-*")]
                shutil.rmtree(run / "checkpoints")
                self.assertIn(f"exprun: error: launch: {run.name} has no intact checkpoint to continue from; `exprun rerun {run.name} --store {ending.name}` "
                              "trains it again from the start\n", self.exprun("resume", "tiny", "--store", ending.name, code=1).err)

    def test_a_diverged_run_goes_on_from_the_last_checkpoint_with_finite_weights(self):
        # The first update has a learning rate of 0, the second one that is infinite in fp32.
        line = ("tiny.toml", "lr=1e39", "warmup=4 steps", "warmup_form=k/W", "checkpoint.every=1 steps",
                "evaluation.val_loss.every=1 steps")
        said = self.exprun(*line, code=3).err
        self.assertIn("exprun: diverged at step 3/40, val loss nan (best ", said)
        self.assertIn(" 3/40 ", self.exprun("ls").out)
        run = self.run_folder()
        self.assertEqual(sorted(path.name for path in (run / "checkpoints").iterdir()), ["step_00000001", "step_00000002"])
        said = self.exprun("resume", "@last", code=3).err
        self.assertRegex(said, r"\Aexprun: warning: skipped a checkpoint: step_00000002: '[a-z_.0]+' in model.safetensors is not "
                               rf"finite\nexprun: continuing {run.name} \(diverged\) from step 1 of 40 steps\n")
        shutil.rmtree(run / "checkpoints/step_00000001")
        said = self.exprun("resume", "@last", code=1).err
        self.assertTrue(said.endswith(f"\nexprun: error: launch: {run.name} diverged, and it has no checkpoint with finite "
                                      f"weights to continue from; `exprun rerun {run.name} lr=...` makes it again with a change\n"),
                        said)
        self.assertEqual(self.rows("SELECT state, attempt FROM runs"), [("diverged", 2)])


def has_waiter(file):
    with open("/proc/locks", encoding="ascii") as locks:
        return any("->" in line and f":{os.fstat(file.fileno()).st_ino} " in line for line in locks)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main()
