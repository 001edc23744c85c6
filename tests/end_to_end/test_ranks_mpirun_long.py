"""Ranks that mpirun starts: the same command joins them, and one that dies ends them all."""
import contextlib
import os
import shutil
import signal
import subprocess
import time
import unittest

from support import BUILD, ExprunTest, children, end

WORDS = ("tiny.toml", "sequences=8", "micro_batch=2", "strategy=zero1")


class Mpirun(ExprunTest):
    def mpirun(self, *words):
        if not shutil.which("mpirun"):
            self.skipTest("no mpirun: apt-get install openmpi-bin")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EXPRUN_")}
        environment["XDG_CACHE_HOME"] = str(self.folder / "cache")
        process = subprocess.Popen(
            ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", BUILD / "exprun", *words], cwd=self.folder,
            env=environment, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(end, process)
        return process

    def test_two_ranks_train_as_two_of_our_own(self):
        result = self.finish(self.mpirun(*WORDS))
        self.assertEqual(result.code, 0, result.err)
        self.exprun(*WORDS, "world_size=2", "--new")
        self.assertEqual(self.series(1), self.series(2))

    def test_a_rank_that_dies_ends_the_others(self):
        process = self.mpirun(*WORDS, "steps=1000000", "checkpoint.every='100000 steps'")
        self.wait_for_step(50, process)
        started = children(process.pid)
        trainers = [pid for rank in started for pid in [rank, *children(rank)] if b"--follow" in command_line(pid)]
        self.assertEqual(len(trainers), 1)
        os.kill(trainers[0], signal.SIGKILL)
        self.assertNotEqual(self.finish(process).code, 0)
        # mpirun leaves rank 0's launcher no time to record an end: then the lock that is free tells of it.
        late = time.monotonic() + self.timeout
        while "running" in self.exprun("ls").out:
            self.assertLess(time.monotonic(), late, "rank 0 outlives mpirun")
            time.sleep(0.2)


def command_line(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()
    return b""


if __name__ == "__main__":
    unittest.main()
