"""What a run does when its loss or its gradient norm is not finite, or an outlier (run.on_divergence)."""
import json
import random
import re
import struct
import unittest

from exact import ExactTest
from support import TINY, ExprunTest, fixture

OUTLIERS = ("dataset.order=sequential", "run.divergence.window=16", "run.divergence.z_score=3.4")


def text_with_noise(length, places):
    """Lines that a model soon knows, with characters at random at the places [begin, end)."""
    calm = "".join(f"{n % 10} little ships went out to sea, and came home to me.\n" for n in range(length // 50 + 1))
    letters, draw = sorted(set(calm)), random.Random(1)
    noise = "".join(draw.choice(letters) for _ in range(length))
    return "".join(noise[i] if any(begin <= i < end for begin, end in places) else calm[i] for i in range(length))


class DivergenceTest(ExprunTest):
    def skipped(self):
        return self.rows("SELECT step, value FROM metrics WHERE name = 'skipped_updates' ORDER BY step")

    def events(self):
        return [text for (text,) in self.rows("SELECT text FROM event WHERE kind = 'divergence' ORDER BY id")]

    def write_noise_at_step(self, *steps):
        tokens = 4 * 16  # of a step
        self.write("text.txt", text_with_noise(20_000, [((step - 1) * tokens, step * tokens) for step in steps]))


class Divergence(DivergenceTest):
    def test_noise_in_the_data_is_skipped_and_counted(self):
        self.write_noise_at_step(25, 50)
        said = self.exprun("tiny.toml", "steps=60", "on_divergence=skip", "metrics.progress_every=1 step", *OUTLIERS).err
        self.assertRegex(said, r"\nexprun: step 24/60  loss [\d.]+  [\d,.k ]+ tokens/s  elapsed ")
        self.assertRegex(said, r"\nexprun: step 25/60  loss [\d.]+  elapsed ")  # it trained on no tokens
        first, second = self.events()
        self.assertRegex(first, r"\Athe loss of step 25 is [0-9.]+, 3\.[4-7] standard deviations above the mean of 16 steps; the "
                                rf"update was skipped; `exprun data head --run {self.run_folder().name} --step 25` prints its data\Z")
        self.assertRegex(second, r"\Athe loss of step 50 is ")
        self.assertIn(f"exprun: warning: {first}\n", said)
        self.assertIn("\nexprun: skipped 2 updates that diverged\n", said)
        self.assertEqual(self.skipped(), [(step, float((step >= 25) + (step >= 50))) for step in range(1, 61)])
        ((lr, before),) = self.rows("SELECT a.value, b.value FROM metrics a JOIN metrics b ON b.name = a.name AND b.step = a.step - 1 "
                                    "WHERE a.name = 'lr' AND a.step = 25")
        self.assertAlmostEqual(lr, before, delta=0.2 * before)
        self.assertEqual(self.state(), "finished")

    def test_noise_in_the_data_is_passed_over_by_a_rollback(self):
        self.write_noise_at_step(25)
        said = self.exprun("tiny.toml", "on_divergence=rollback", "checkpoint.every=10 steps", "keep_best=none",
                           "metrics.every=3 steps", *OUTLIERS).err
        (message,) = self.events()
        self.assertRegex(message, r"\Athe loss of step 25 is .*; the run goes back to step 20 and passes over the data of 5 steps; "
                                  rf"`exprun data head --run {self.run_folder().name} --batch 25` prints those of the last\Z")
        self.assertIn(f"exprun: warning: {message}\n", said)
        self.assertIn("\nexprun: passed over the data of 5 steps\n", said)
        # What changes is recorded at its step, and nothing of the steps that were left is live.
        self.assertEqual(self.rows("SELECT step, value FROM metrics WHERE name = 'passed_over_batches' ORDER BY step"),
                         [(1, 0.0)] + [(step, 0.0) for step in range(3, 20, 3)] + [(step, 5.0) for step in range(21, 40, 3)])
        self.assertEqual(self.rows("SELECT step FROM metrics_archived WHERE name = 'train/loss'"), [(21,), (24,)])
        self.assertEqual(self.rows("SELECT state, last_step FROM runs"), [("finished", 40)])

    def test_a_fork_of_a_run_that_diverged_goes_back_to_where_it_began(self):
        self.write_noise_at_step(25)
        self.exprun("tiny.toml", "checkpoint.every=10 steps", "keep_best=none", *OUTLIERS, code=3)
        self.exprun("fork", "@last", "--step", "20", "on_divergence=rollback")
        (_, message) = self.rows("SELECT run, text FROM event WHERE kind = 'divergence'")[0]
        self.assertIn("; the run goes back to step 20 and passes over the data of 5 steps", message)
        self.assertEqual(self.rows("SELECT state, last_step FROM runs ORDER BY run"), [("diverged", 25), ("finished", 40)])
        self.exprun("fork", "@last", "--step", "30", "on_divergence=skip")
        self.assertEqual(self.rows("SELECT state, last_step FROM runs WHERE run = 3"), [("finished", 40)])

    def test_a_healthy_run_of_2000_steps_raises_no_alarm(self):
        """Not with 64 tokens a step and a high learning rate either, whose gradient norms are spread most."""
        self.write("text.txt", fixture(self, "data/tinyshakespeare.txt").read_text()[:200_000])
        for shape in ("sequences=4 context_length=16", "sequences=2 context_length=32"):
            for lr, seed in (("1e-3", "2"), ("1e-2", "1"), ("1e-2", "2")):
                self.exprun("tiny.toml", *shape.split(), "steps=2000", f"lr={lr}", f"seed={seed}", "schedule.type=constant",
                            "on_divergence=skip", "metrics.val_loss=false", "threads=1")
        self.assertEqual(self.events(), [])
        self.assertEqual(self.rows("SELECT max FROM series WHERE name = 'skipped_updates'"), [(0.0,)] * 6)

    def test_noise_in_the_data_ends_a_run_that_is_to_stop(self):
        self.write_noise_at_step(25)
        self.exprun("tiny.toml", *OUTLIERS, code=3)
        self.assertEqual(self.rows("SELECT state, last_step FROM runs"), [("diverged", 25)])
        self.assertEqual(self.skipped(), [])

    def test_nan_ends_a_run_after_as_many_skips_as_are_allowed(self):
        self.exprun("tiny.toml", "on_divergence=skip", "lr=1e39", "warmup=4 steps", "warmup_form=k/W", code=3)
        ((message,),) = self.rows("SELECT message FROM runs")
        self.assertEqual(message, "the loss of step 8 is nan; the update was not applied: the 5 updates before it were "
                                  "skipped, as many in a row as run.divergence.max_in_row allows")
        self.assertEqual(self.events()[0], f"the loss of step 3 is nan; the update was skipped; `exprun data head --run "
                                           f"{self.run_folder().name} --step 3` prints its data")
        self.assertEqual(self.rows("SELECT step FROM metrics WHERE name = 'lr' AND value >= 1e38 ORDER BY step"),
                         [(step,) for step in range(2, 9)])

    def test_a_fork_of_a_run_that_skipped_as_many_as_are_allowed_may_skip_as_many(self):
        self.exprun("tiny.toml", "on_divergence=skip", "lr=1e30", "warmup=4 steps", "warmup_form=k/W", code=3)
        said = self.exprun("fork", "@last", code=3).err
        self.assertEqual(said.count("; the update was skipped; "), 5)


class DataOfAStep(DivergenceTest):
    def head(self, *words, code=0):
        result = self.exprun("data", "head", *words, code=code)
        return result.err if code else result.out

    def samples(self, *words):
        """The texts, without the lines that say where they begin."""
        return re.split(r"(?m)^==> sample .*\n", self.head("--run", "@last", *words))[1:]

    def test_the_data_of_a_step_are_those_that_the_trainer_reads(self):
        text = text_with_noise(20_000, [])
        self.write("text.txt", text)
        self.exprun("tiny.toml", "order=sequential", "steps=3")
        self.assertEqual(self.samples("--step", "2"), [text[64 + 16 * i:][:17] + "\n" for i in range(4)])
        self.assertTrue(self.head("--run", "@last", "--step", "2", "--tokens", "3", "--from", "1").startswith(
            f"==> sample 1 of 4: token 64 of train_000000.bin\n{text[65:68]}\n==> sample 2 of 4: token 80 of "))
        self.assertEqual(self.head("--run", "@last", "--step", "2", "--ids").count("\n"), 4 * 18)

    def test_the_data_of_a_step_in_every_order(self):
        # The trainer ends at the step whose samples have a token that the model does not know.
        tokens = [i % 50 for i in range(4000)]
        tokens[2500] = 70
        self.write("train.bin", struct.pack("<4000H", *tokens))
        self.write("data.json", json.dumps({"fingerprint": "", "tokenizer": {"type": "byte"}, "vocab_size": 60, "train": [],
                                            "validation": []}))
        before, _, behind = TINY.partition('type = "text"\npath = "text.txt"\ntokenizer = "char"\n')
        self.write("tiny.toml", before + 'type = "token_shards"\ntrain = "train.bin"\nformat = "raw_uint16"\n'
                   'tokenizer = "prepared"\n' + behind)
        for order in "sequential", "shuffled_blocks", "random_offsets":
            said = self.exprun("tiny.toml", f"order={order}", "steps=2000", "checkpoint.every=2 steps", code=2).err
            self.assertIn("token id 70 >= vocab_size 60", said)
            ((last,),) = self.rows("SELECT last_step FROM runs ORDER BY run DESC LIMIT 1")
            self.assertGreater(last, 3)
            self.assertIn("70\n", "".join(self.samples("--ids", "--step", str(last + 1))))
            for step in range(1, last + 1):
                self.assertFalse(any("70\n" in sample for sample in self.samples("--ids", "--step", str(step))), step)
            self.exprun("fork", "@last", "sequences=8", code=2)
            ((began, last),) = self.rows("SELECT from_step, last_step FROM attempt ORDER BY run DESC LIMIT 1")
            self.assertIn("70\n", "".join(self.samples("--ids", "--step", str(last + 1))))
            for step in range(began + 1, last + 1):
                self.assertFalse(any("70\n" in sample for sample in self.samples("--ids", "--step", str(step))), step)

    def test_after_a_rollback_a_step_has_later_data(self):
        self.write_noise_at_step(25)
        self.exprun("tiny.toml", "on_divergence=rollback", "checkpoint.every=10 steps", "keep_best=none", "metrics.every=7 steps",
                    *OUTLIERS)
        text = (self.folder / "text.txt").read_text()
        for words, batch in ((("--step", "20"), 20), (("--step", "21"), 26), (("--step", "25"), 30), (("--batch", "25"), 25)):
            self.assertEqual("".join(sample[:16] for sample in self.samples(*words)), text[(batch - 1) * 64:batch * 64])
        self.exprun("fork", "@last", "--step", "30", "on_divergence=stop")
        self.assertEqual("".join(sample[:16] for sample in self.samples("--step", "31")), text[35 * 64:36 * 64])
        run, fork = (folder for (folder,) in self.rows("SELECT folder FROM runs ORDER BY run"))
        self.assertEqual(self.head("--run", "@last", "--step", "30", code=2),
                         f"exprun: error: data head: {fork} is a fork of step 30 of {run}, which has trained step 30\n")
        self.assertEqual(self.head("--run", "@last", "--step", "41", code=2),
                         f"exprun: error: data head: {fork} has 40 steps, no step 41\n")

    def test_a_diverged_run_says_how_its_data_are_printed(self):
        self.write_noise_at_step(25)
        said = self.exprun("tiny.toml", *OUTLIERS, code=3).err
        name = self.run_folder().name
        self.assertIn(f"exprun: `exprun data head --run {name} --step 25` prints the data of step 25\n", said)
        (self.folder / "runs").rename(self.folder / "other")
        said = self.exprun("--store", "other", "resume", name, code=3).err
        self.assertIn(f"`exprun data head --run {name} --store other --step 25` prints the data of step 25\n", said)

    def test_mistakes(self):
        usage = "\n  usage: exprun data head PATH...|--run RUN --step N\n"
        for words, said in (((), "name shards or folders of them, or a run with --run RUN --step N"),
                            (("text.txt", "--step", "1"), "takes either PATH... or --run RUN, not both"),
                            (("--step", "1"), "--step and --batch need --run RUN"),
                            (("--run", "@last"), "--run needs one of --step N and --batch N"),
                            (("--run", "@last", "--step", "1", "--batch", "2"), "--run needs one of --step N and --batch N")):
            self.assertEqual(self.head(*words, code=2), f"exprun: error: data head: {said}\n")
        self.assertEqual(self.head("--run", "@last", "--step", "0", code=2),
                         f"exprun: error: data: --step takes a whole number of at least 1, not '0'{usage}")


class ExactDivergence(ExactTest):
    def test_a_run_that_skips_and_is_killed_ends_in_the_same_bits(self):
        tokens = 8 * 64
        noise = [(step * tokens, (step + 1) * tokens) for step in (30, 62, 63, 100)]
        self.write("text.txt", text_with_noise(80_000, noise))
        self.compare_with_killed([True, False, False, True, False], ["both"], "on_divergence=skip", *OUTLIERS)
        ((skipped,),) = self.rows("SELECT last FROM series WHERE name = 'skipped_updates'")
        self.assertGreaterEqual(skipped, 3)

    def test_a_run_that_goes_back_and_is_killed_ends_in_the_same_bits(self):
        tokens = 8 * 64
        noise = [(step * tokens, (step + 1) * tokens) for step in (30, 62, 90)]
        self.write("text.txt", text_with_noise(80_000, noise))
        self.compare_with_killed([True, False, False, True, False], ["both"], "on_divergence=rollback", "checkpoint.every=12 steps",
                                 *OUTLIERS)
        ((passed_over,),) = self.rows("SELECT last FROM series WHERE name = 'passed_over_batches'")
        self.assertGreaterEqual(passed_over, 6)


if __name__ == "__main__":
    unittest.main()
