"""Stop signals, many, into steps of a second or more: each attempt of the run is saved and ends as the contract says, and
what the last one ends with has the bits of a run that nobody disturbed. SIGNALS in the environment sets how many."""
import contextlib
import os
import signal
import subprocess
import time
import unittest

from exact import ExactTest
from support import ExprunTest, children

SIGNALS = int(os.environ.get("SIGNALS") or 10)
# Products as large as a real model's: oneDNN's kernels for AVX-512 are chosen for them.
WORDS = ("num_layers=4", "num_heads=12", "hidden_size=768", "context_length=256", "sequences=4",
         "micro_batch=2", f"steps={3 * SIGNALS}")
ENDS = {signal.SIGUSR2: (75, "preempted"), signal.SIGTERM: (143, "interrupted")}
STOPS = [(signal.SIGUSR2, "all"), *((number, whom) for number in ENDS for whom in ("launcher", "one rank"))]
PAUSE = 0.0005  # seconds between warnings: a handler in a thread that computes met the kernel that it harmed so


class HungTrainer(ExprunTest):
    timeout = 150

    def test_whoever_needs_its_end_waits_a_minute_not_for_ever(self):
        launcher = self.start("tiny.toml", "steps=100000000")
        self.wait_for_step(20, launcher)
        (trainer,) = children(launcher.pid)
        launcher.kill()
        launcher.wait()
        os.kill(trainer, signal.SIGSTOP)
        self.addCleanup(os.kill, trainer, signal.SIGKILL)
        is_gone = rf"its launcher \(process {launcher.pid} on \S+\) is gone, and its trainer saves"
        self.assertRegex(self.exprun("stop", "@last", "--no-wait").err, rf"^exprun: \S+ is ending: {is_gone}\n$")
        for command in (["resume", "@last"], ["tiny.toml", "steps=100000000"], ["stop", "@last"]):
            began = time.monotonic()
            said = self.exprun(*command, code=1).err
            self.assertGreater(time.monotonic() - began, 50)
            self.assertRegex(said, rf"{is_gone}; run the same command again in a moment\n$")


class LongSteps(ExactTest):
    timeout = 600

    def live_and_die(self, attempt, at_start, victims):
        number, whom = victims
        before = max(self.last_step(), 0)
        process = self.start(*self.words)
        self.wait_until(lambda: self.attempt() == attempt and children(process.pid), process)
        if not at_start:
            self.wait_for_step(before + 1, process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=self.random.uniform(0, self.step_seconds()))
        trainers = children(process.pid)
        self.stop(process, number, {"all": [process.pid, *trainers], "launcher": [process.pid],
                                    "one rank": self.random.sample(trainers, 1)}[whom])
        result = self.finish(process)
        self.assertFalse((self.folder / "runs/exprun.db-wal").exists(), "the store was not closed")
        self.assertEqual((result.code, self.state()), ENDS[number], f"{number.name} to {whom}: {result.err}")
        self.assert_saved(at_start)

    @staticmethod
    def stop(process, number, victims):
        """A warning may come as often as it likes; a second SIGTERM would end all at once."""
        for pid in victims:
            os.kill(pid, number)
        while number == signal.SIGUSR2 and process.poll() is None:
            for pid in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=PAUSE)

    def assert_saved(self, at_start):
        """What was trained, if anything was."""
        (last,) = self.rows("SELECT last_step FROM runs")[0]
        if last or not at_start:
            self.assertEqual(self.newest_checkpoint(), last)

    def step_seconds(self):
        """Of the run that was left alone."""
        milliseconds = [value for (value,) in self.rows(
            "SELECT value FROM metrics WHERE name = 'step_ms' ORDER BY value", store="whole")]
        return milliseconds[len(milliseconds) // 2] / 1000

    def stop_often(self, *words):
        self.compare_with_killed([attempt % 4 == 0 for attempt in range(SIGNALS)], STOPS, *WORDS, *words)

    def test_one_process(self):
        self.stop_often()

    def test_two_ranks(self):
        self.stop_often("world_size=2", "strategy=zero1")


if __name__ == "__main__":
    unittest.main()
