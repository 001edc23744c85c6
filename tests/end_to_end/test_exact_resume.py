"""Killed at random moments and resumed, a run ends with the bits of one that was left alone."""
import unittest

from exact import ExactTest

KILLS = [True, False, False, True, False]  # at the start: before the first checkpoint, and after later ones


class ExactResume(ExactTest):
    def test_killed_five_times_and_resumed_ends_in_the_same_bits(self):
        self.compare_with_killed(KILLS, ["both"])

    def test_the_same_on_two_threads(self):
        self.compare_with_killed(KILLS, ["both"], "threads=2")


if __name__ == "__main__":
    unittest.main()
