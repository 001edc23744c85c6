"""Exact resume under many kills, of launcher, trainer or both, or of one rank. KILLS and SEEDS in the environment set how many."""
import os
import shutil
import unittest

from exact import AVERAGED_ADAPTER, ExactTest

KILLS = int(os.environ.get("KILLS") or 10)
SEEDS = tuple(range(1, 1 + int(os.environ.get("SEEDS") or 2)))


class KillMatrix(ExactTest):
    def kill_often(self, *victims, words=()):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                moments = [kill % 3 == 0 for kill in range(KILLS)]
                self.compare_with_killed(moments, victims, f"run.seed={seed}", "steps=240", *words)
            for folder in ("runs", "whole", "cache"):
                shutil.rmtree(self.folder / folder, ignore_errors=True)

    def test_the_launcher(self):
        self.kill_often("launcher")

    def test_the_trainer(self):
        self.kill_often("trainer")

    def test_both(self):
        self.kill_often("both")

    def test_any(self):
        self.kill_often("launcher", "trainer", "both")

    def test_any_of_fine_tuning(self):
        for words in AVERAGED_ADAPTER, AVERAGED_ADAPTER[1:]:  # and of all weights
            with self.subTest(words=words):
                self.fine_tune()
                self.kill_often("launcher", "trainer", "both", words=words)

    def test_one_of_two_ranks(self):
        self.kill_often("one rank", words=("world_size=2", "strategy=zero1", "micro_batch=2"))

    def test_one_of_two_ranks_with_an_averaged_adapter(self):
        self.fine_tune()
        self.kill_often("one rank", "both", words=("world_size=2", "strategy=zero1", "micro_batch=2", *AVERAGED_ADAPTER))

    def test_any_of_three_ranks(self):
        self.kill_often("launcher", "one rank", "both",
                        words=("world_size=3", "sequences=12", "micro_batch=2"))

    def test_any_of_three_ranks_with_an_averaged_adapter(self):
        self.fine_tune()
        for strategy in "ddp", "zero1":
            with self.subTest(strategy=strategy):
                self.kill_often("launcher", "one rank", "both",
                                words=("world_size=3", f"strategy={strategy}", "sequences=12", "micro_batch=2", *AVERAGED_ADAPTER))


if __name__ == "__main__":
    unittest.main()
