"""Killed at random moments and resumed, a run ends with the bits of one that was left alone."""
import os
import random
import unittest

from exact import AVERAGED_ADAPTER, RECIPE, ExactTest

KILLS = [True, False, False, True, False]  # at the start: before the first checkpoint, and after later ones


class ExactResume(ExactTest):
    def test_killed_five_times_and_resumed_ends_in_the_same_bits(self):
        self.compare_with_killed(KILLS, ["both"])

    def test_the_same_of_an_averaged_adapter_on_instructions(self):
        self.fine_tune()
        self.compare_with_killed(KILLS, ["both"], *AVERAGED_ADAPTER)


class ExactTraining(ExactTest):
    """The newest run is killed at random moments; `series` is what it records after a step."""

    def attempt(self):
        return self.rows("SELECT attempt FROM runs ORDER BY run DESC LIMIT 1")[0][0]

    def newest_run(self):
        return self.folder / "runs" / self.rows("SELECT folder FROM runs ORDER BY run DESC LIMIT 1")[0][0]

    def newest_checkpoint(self):
        found = (self.newest_run() / "checkpoints").glob("step_????????/MANIFEST.json")
        return max((int(path.parent.name.split("_")[1]) for path in found), default=-1)

    def series(self, run, after):
        return self.rows("SELECT name, step, value FROM metrics JOIN series USING (run, name) WHERE NOT timing "
                         f"AND run = {run} AND step > {after} ORDER BY name, step")

    def end(self, run):
        files = [run / "checkpoints/step_00000120" / name for name in ("model.safetensors", "optimizer.safetensors")]
        return [file.read_bytes() for file in files]

    def kill(self, first, moments, *words):
        seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(10**6))
        print(f"SEED={seed}", end=" ", flush=True)
        self.random = random.Random(seed)
        self.words = words
        for attempt, at_start in enumerate(moments, start=first):
            self.live_and_die(attempt, at_start, "both")
            self.words = ("resume", "@last")

    def test_an_extended_run_that_is_killed_ends_as_a_longer_one(self):
        self.write("exact.toml", RECIPE.replace('"cosine"', '"constant"'))
        self.exprun("exact.toml")
        self.exprun("exact.toml", "steps=64")
        self.kill(2, [True, False, False], "resume", "@last", "run.steps=120")
        self.exprun("resume", "@last")
        whole, extended = ((self.folder / "runs" / folder) for (folder,) in self.rows("SELECT folder FROM runs ORDER BY run"))
        self.assertTrue(self.end(whole) == self.end(extended))
        self.assertEqual(self.series(2, 0), self.series(1, 0))
        self.assertEqual(self.rows("SELECT DISTINCT recipe_hash FROM runs"), self.rows("SELECT recipe_hash FROM runs WHERE run = 1"))

    def test_a_fork_that_is_killed_ends_as_its_origin(self):
        self.write("exact.toml", RECIPE)
        self.exprun("exact.toml", "keep_last=50")
        origin = self.newest_run()
        fork = self.start("fork", "@last", "--step", "60")
        self.wait_until(lambda: self.newest_run() != origin, fork)
        fork.kill()
        self.finish(fork)
        self.kill(2, [True, False, False], "resume", "@last")
        self.exprun("resume", "@last")
        self.assertTrue(self.end(origin) == self.end(self.newest_run()))
        self.assertEqual(self.series(2, 60), self.series(1, 60))
        self.assertEqual(self.series(2, 0), self.series(1, 60))


if __name__ == "__main__":
    unittest.main()
