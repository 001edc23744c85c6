"""Ranks that another launcher starts, told of it as torchrun does: what all of them do when one command is theirs."""
import os
import pathlib
import signal
import socket
import unittest

from support import ExprunTest

WORDS = ("tiny.toml", "sequences=8", "steps=600", "checkpoint.every='50 steps'")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def catches(pid, number):
    """Whether the process has a handler for the signal."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    (mask,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


def follows(pid):
    return b"--follow" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")


class JoinedRanks(ExprunTest):
    def start_rank(self, rank, port, *words):
        return self.start(*words, variables={"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                                             "MASTER_PORT": str(port)})

    def all_ranks(self, *words):
        port = free_port()
        return [self.finish(process) for process in [self.start_rank(rank, port, *words) for rank in (1, 0)]]

    def assert_codes(self, code, ranks):
        for rank in ranks:
            self.assertEqual(rank.code, code, rank.err)

    def test_they_resume_a_run_together_or_hear_that_there_is_nothing_to_do(self):
        process = self.start(*WORDS)
        self.wait_for_step(100, process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)
        self.assert_codes(0, self.all_ranks("resume", "@last"))
        self.assertEqual(self.rows("SELECT state, attempt, last_step FROM runs"), [("finished", 2, 600)])
        again = self.all_ranks("resume", "@last")
        self.assert_codes(0, again)
        self.assertIn("nothing to do: the run is finished\n", again[1].err)
        refused = self.all_ranks("resume", "@last", "lr=1")
        self.assert_codes(2, refused)
        self.assertIn("cannot go on with another recipe", refused[1].err)
        self.assert_codes(4, self.all_ranks("resume", "nothing"))

    def test_one_that_waits_for_rank_0_can_be_stopped_and_preempted(self):
        for number, code in ((signal.SIGTERM, -signal.SIGTERM), (signal.SIGUSR2, 75)):
            with self.subTest(number=number):
                process = self.start_rank(1, free_port(), *WORDS)
                self.wait_until(lambda: follows(process.pid) and catches(process.pid, signal.SIGUSR2), process)
                os.kill(process.pid, number)
                self.assertEqual(self.finish(process, timeout=10).code, code)


if __name__ == "__main__":
    unittest.main()
