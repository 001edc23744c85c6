"""Which GPUs the trials of a sweep get. The driver is one that stands in for NVIDIA's, and exprun-trainer does the work of
exprun-trainer-cuda: that trials are given GPUs is real, that they train on them is not."""
import os
import pathlib
import shutil
import signal
import unittest

from support import BUILD, children
from sweep_crashes import SweepCrashes

LONG = ("steps=100000000", "checkpoint.every=1000000 steps")


class GpuSlots(SweepCrashes):
    sees_gpus = True

    def setUp(self):
        super().setUp()
        self.addCleanup(self.wait_for_the_end_of_trials)
        programs = self.folder / "bin"
        programs.mkdir()
        self.program = shutil.copy(BUILD / "exprun", programs)  # it looks for its trainers beside itself
        for name in ("exprun-trainer", "exprun-trainer-cuda"):
            (programs / name).symlink_to(BUILD / "exprun-trainer")

    def gpus_of_trials(self, sweep):
        """Of each trial that runs, what each of its ranks may see."""
        return [[visible_to(rank) for rank in children(launcher)] for launcher in children(sweep.pid)]

    def wait_for_trials(self, count, sweep):
        """Until so many trials have made a step."""
        begun = "SELECT count(*) FROM series WHERE name = 'train/loss'"
        self.wait_until(lambda: self.last_step() >= 1 and self.rows(begun) == [(count,)], sweep)

    def test_each_trial_has_a_gpu_of_its_own_and_the_others_wait_for_one(self):
        with self.fake_driver():
            sweep = self.start("sweep", "tiny.toml", "seed=1,2,3", *LONG, "-j", "3")
            self.wait_for_trials(2, sweep)
            self.assertEqual(sorted(self.gpus_of_trials(sweep)), [["GPU-11111111-aaaa"], ["GPU-22222222-bbbb"]])
            self.assertEqual(self.rows("SELECT state FROM trials"), [("running",), ("running",), ("waiting",)])
            first = children(sweep.pid)[0]
            for pid in (first, *children(first)):
                os.kill(pid, signal.SIGKILL)
            self.wait_for_trials(3, sweep)
            self.assertEqual(sorted(self.gpus_of_trials(sweep)), [["GPU-11111111-aaaa"], ["GPU-22222222-bbbb"]])

    def test_a_trial_of_several_ranks_has_as_many_gpus(self):
        pairs = ["GPU-11111111-aaaa,GPU-22222222-bbbb", "GPU-44444444-dddd,GPU-55555555-eeee"]
        with self.fake_driver(FAKE_NVML_GPUS="4"):
            sweep = self.start("sweep", "tiny.toml", "seed=1,2,3", "world_size=2", *LONG, "-j", "3")
            self.wait_for_trials(2, sweep)
            self.assertEqual(sorted(self.gpus_of_trials(sweep)), [[pairs[0]] * 2, [pairs[1]] * 2])
            self.assertEqual(self.rows("SELECT state FROM trials"), [("running",), ("running",), ("waiting",)])

    def test_a_trial_with_a_rank_for_each_gpu_has_its_share_of_them(self):
        with self.fake_driver(FAKE_NVML_GPUS="4"):
            sweep = self.start("sweep", "tiny.toml", "seed=1,2", "world_size=auto", *LONG, "-j", "2")
            self.wait_for_trials(2, sweep)
            found = self.gpus_of_trials(sweep)
            self.assertEqual([len(ranks) for ranks in found], [2, 2])
            self.assertEqual(len({gpu for ranks in found for rank in ranks for gpu in rank.split(",")}), 4)

    def test_another_sweep_gets_other_gpus(self):
        with self.fake_driver():
            one = self.start("sweep", "tiny.toml", "seed=1,2", "world_size=1", *LONG)
            self.wait_for_trials(1, one)
            other = self.start("sweep", "tiny.toml", "seed=3,4", "world_size=1", *LONG)
            self.wait_for_trials(2, other)
            self.assertEqual(self.gpus_of_trials(one) + self.gpus_of_trials(other), [["GPU-11111111-aaaa"], ["GPU-22222222-bbbb"]])
            third = self.start("sweep", "tiny.toml", "seed=5,6", "world_size=2", "steps=2")
            self.assertEqual(third.stderr.readline(), "exprun: sweep of 2 trials (2 seeds)\n")
            self.assertEqual(third.stderr.readline(), "exprun: [1/2] seed=5: waits for 2 GPUs, which other sweeps use\n")
            for sweep in (one, other):
                sweep.terminate()
                self.assertEqual(self.finish(sweep).code, 143)
            self.assertEqual(self.finish(third).code, 0)


def visible_to(process):
    variables = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    return next((line.split(b"=", 1)[1].decode() for line in variables if line.startswith(b"CUDA_VISIBLE_DEVICES=")), None)


if __name__ == "__main__":
    unittest.main()
