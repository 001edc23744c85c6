"""The larger twins of the tests of crashed and shared sweeps."""
import unittest

from sweep_crashes import SweepCrashes


class Crashes(SweepCrashes):
    def test_24_trials_that_are_killed_20_times_at_random_all_finish_with_the_same_bits(self):
        for seed in (1, 2):
            with self.subTest(seed=seed):
                self.setUp()
                self.crash(trials=24, kills=20, seed=seed)

    def test_four_sweep_processes_share_64_trials(self):
        self.share(trials=64, schedulers=4)


if __name__ == "__main__":
    unittest.main()
