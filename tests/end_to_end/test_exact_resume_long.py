"""Killed at random moments and resumed, a run ends with the bits of one that was left alone: where that takes long."""
import unittest

from exact import ExactTest
from test_divergence import OUTLIERS, text_with_noise
from test_exact_resume import KILLS


class ExactResume(ExactTest):
    def test_on_two_threads(self):
        self.compare_with_killed(KILLS, ["both"], "threads=2")

    def test_on_two_ranks_that_go_back_behind_noise(self):
        tokens = 8 * 64
        self.write("text.txt", text_with_noise(80_000, [(step * tokens, (step + 1) * tokens) for step in (30, 62, 90)]))
        self.compare_with_killed([True, False, False], ["both", "one rank"], "world_size=2", "on_divergence=rollback",
                                 "checkpoint.every=12 steps", *OUTLIERS)
        ((passed_over,),) = self.rows("SELECT last FROM series WHERE name = 'passed_over_batches'")
        self.assertGreaterEqual(passed_over, 6)


if __name__ == "__main__":
    unittest.main()
