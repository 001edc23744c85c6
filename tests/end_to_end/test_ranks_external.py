"""Ranks that an external launcher starts, told of it as torchrun does: what all of them do when one command is theirs."""
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import unittest

from support import BUILD, ExprunTest, children, end, kill

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


class ExternalLauncher(ExprunTest):
    def start_rank(self, rank, port, *words, **variables):
        return self.start(*words, variables={"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
                                             "MASTER_PORT": str(port), **variables})

    def start_rank_that_sees(self, other, instead_of, port, *words):
        """Rank 1 on a machine of its own, where one path leads to another file."""
        if not shutil.which("unshare") or subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
            self.skipTest("mounts of its own for a process need root and unshare, and no chroot")
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", other, instead_of,
             BUILD / "exprun", *words],
            cwd=self.folder, text=True, errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
        self.addCleanup(end, process)
        return process

    def assert_all_say(self, ranks, pattern):
        """Both end, and so does the run, with rank 1's problem."""
        for rank in ranks:
            self.assertEqual(rank.code, 1, rank.err)
            self.assertRegex(rank.err, pattern)
        ((state, message),) = self.rows("SELECT state, message FROM runs ORDER BY run DESC LIMIT 1")
        self.assertEqual(state, "failed")
        self.assertRegex(message, pattern)

    def test_another_recipe_on_a_rank_ends_all(self):
        port = free_port()
        ranks = [self.start_rank(1, port, *WORDS, "lr=2e-2"), self.start_rank(0, port, *WORDS)]
        self.assert_all_say([self.finish(rank) for rank in ranks],
                            r"dist: rank 1 on \S+: the recipe is [0-9a-f]{32} here and [0-9a-f]{32} on rank 0; "
                            "start all ranks with the same recipe and the same key=value arguments\n?")

    def test_other_data_on_a_rank_end_all(self):
        self.exprun(*WORDS, "steps=1")
        (shard,) = self.folder.glob("runs/data/*/train*.bin")
        other = self.write("other.bin", shard.read_bytes()[:-2] + b"\0\0")
        port = free_port()
        ranks = [self.start_rank_that_sees(other, shard, port, *WORDS), self.start_rank(0, port, *WORDS)]
        self.assert_all_say([self.finish(rank) for rank in ranks],
                            r"dist: rank 1 on \S+: token shard '.*train.*' is [0-9a-f]{32} here and [0-9a-f]{32} on "
                            "rank 0; use the same files on all machines")

    def test_another_program_on_a_rank_ends_all(self):
        trainer = BUILD / "exprun-trainer"
        other = self.folder / "other-trainer"
        other.write_bytes(trainer.read_bytes() + b"another build")
        other.chmod(0o755)
        port = free_port()
        ranks = [self.start_rank_that_sees(other, trainer, port, *WORDS), self.start_rank(0, port, *WORDS)]
        self.assert_all_say([self.finish(rank) for rank in ranks],
                            r"dist: rank 1 on \S+: the program is [0-9a-f]{32} here and [0-9a-f]{32} on rank 0; "
                            "install the same exprun and LibTorch on all machines")

    def test_rank_0_that_is_stopped_while_it_prepares_shuts_down_the_others(self):
        for number, code in ((signal.SIGUSR2, 75), (signal.SIGTERM, 143)):
            with self.subTest(number=number):
                lock = self.hold_launches()
                port = free_port()
                ranks = [self.start_rank(rank, port, *WORDS) for rank in (1, 0)]
                self.wait_until(lambda: follows(ranks[0].pid), ranks[0])
                self.wait_until(lambda: (self.folder / "runs/exprun.db").exists(), ranks[1])
                self.wait_until(lambda: catches(ranks[1].pid, number), ranks[1])
                os.kill(ranks[1].pid, number)
                self.assert_codes(code, [self.finish(rank) for rank in ranks])
                lock.close()
                self.assertEqual(list(self.folder.glob("runs/tiny-*")), [])

    def test_the_same_line_begins_with_the_same_checkpoint_again(self):
        self.exprun(*WORDS, "steps=6")
        for _ in range(2):  # the second time @last is the run that the first began
            port = free_port()
            ranks = [self.start_rank(rank, port, *WORDS, "steps=3", "init_from=@last", "seed=2") for rank in (1, 0)]
            self.assert_codes(0, [self.finish(rank) for rank in ranks])
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(2,)])

    def test_a_mistake_stands_in_the_error_files_of_all_ranks(self):
        """Whichever rank ends first, torchrun shows its file as the root cause."""
        port = free_port()
        files = [self.folder / f"error-{rank}.json" for rank in (0, 1)]
        ranks = [self.start_rank(rank, port, *WORDS, "lr=-1", TORCHELASTIC_ERROR_FILE=str(files[rank]))
                 for rank in (1, 0)]
        self.assert_codes(2, [self.finish(rank) for rank in ranks])
        for file in files:
            self.assertIn("'lr' must be > 0", json.loads(file.read_text())["message"]["message"])

    def hold_launches(self):
        """As a launch does that takes long: all others wait for the lock."""
        (self.folder / "runs").mkdir(exist_ok=True)
        lock = open(self.folder / "runs/launch.lock", "wb")
        fcntl.fcntl(lock, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0))
        return lock

    def test_new_means_one_run_over_all_lives_of_a_job(self):
        self.exprun(*WORDS)
        port = free_port()
        words = (*WORDS, "--new", "steps=1500")
        first = [self.start_rank(rank, port, *words, TORCHELASTIC_RUN_ID="none") for rank in (1, 0)]
        self.wait_until(lambda: self.rows("SELECT count(*) FROM runs") == [(2,)], first[1])
        self.wait_for_step(100, first[1])
        os.kill(first[0].pid, signal.SIGKILL)
        self.assertEqual([self.finish(rank).code for rank in first], [-signal.SIGKILL, 1])
        second = [self.start_rank(rank, port, *words, TORCHELASTIC_RUN_ID="none", TORCHELASTIC_RESTART_COUNT="1")
                  for rank in (1, 0)]
        self.assert_codes(0, [self.finish(rank) for rank in second])
        self.assertEqual(self.rows("SELECT state, attempt, last_step FROM runs ORDER BY run"),
                         [("finished", 1, 600), ("finished", 2, 1500)])

    def test_a_sweep_is_not_started_once_a_rank_and_a_rerun_is_one_run(self):
        for rank in self.all_ranks("sweep", "tiny.toml", "lr=1e-3,1e-2"):
            self.assertEqual(rank.code, 2)
            self.assertEqual(rank.err, "exprun: error: sweep: an external launcher has started this command 2 times, once per "
                             "rank; start it once, without torchrun or mpirun, or with srun -n1, and set the number of "
                             "ranks with parallelism.world_size\n")
        self.assertFalse((self.folder / "runs").exists())
        self.exprun(*WORDS)
        self.assert_codes(0, self.all_ranks("rerun", "@last"))
        self.assertEqual(self.rows("SELECT state, last_step FROM runs"), [("finished", 600)] * 2)

    def test_a_rerun_that_is_started_anew_goes_on_with_its_run(self):
        self.exprun(*WORDS, "steps=3000")
        job = {"TORCHELASTIC_RUN_ID": "job", "MASTER_PORT": "1"}
        process = self.start("rerun", "1", variables=job)
        self.wait_until(lambda: self.rows("SELECT count(*) FROM runs") == [(2,)], process)
        self.wait_for_step(100, process)
        kill(process)
        self.finish(process)
        again = self.finish(self.start("rerun", "1", variables={**job, "TORCHELASTIC_RESTART_COUNT": "1"}))
        self.assertEqual(again.code, 0, again.err)
        self.assertEqual(self.rows("SELECT state, attempt, last_step FROM runs ORDER BY run"),
                         [("finished", 1, 3000), ("finished", 2, 3000)])

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
        self.assertIn("cannot continue with a different recipe", refused[1].err)
        self.assert_codes(4, self.all_ranks("resume", "nothing"))

    def test_rank_0_that_is_killed_ends_the_others_with_codes_for_their_launcher(self):
        port = free_port()
        ranks = [self.start_rank(rank, port, *WORDS, "steps=100000000", "checkpoint.every='1000000 steps'") for rank in (1, 0)]
        self.wait_for_step(20, ranks[1])
        (trainer,) = children(ranks[1].pid)
        os.kill(trainer, signal.SIGKILL)
        results = [self.finish(rank) for rank in ranks]
        self.assertEqual([result.code for result in results], [1, 128 + signal.SIGKILL])
        self.assertRegex(results[0].err, "^exprun: error: dist: rank 1 lost contact with the other ranks in all-reduce: [^\n]*; "
                         "rank 0 does not respond: it hangs or is no longer running\n$")
        self.assertEqual(self.rows("SELECT state, message FROM runs"),
                         [("killed", "rank 0: ended by SIGKILL (kill -9, or out of memory)")])

    def test_a_port_that_another_has_ends_rank_0_at_once_with_what_to_do(self):
        with socket.socket() as other:
            other.bind(("", 0))
            other.listen()
            port = other.getsockname()[1]
            result = self.finish(self.start_rank(0, port, *WORDS))
        self.assertEqual(result.code, 1)
        self.assertEqual(result.err, f"exprun: error: socket: cannot listen on port {port}, where the ranks are to meet: "
                         "Address already in use; another job may have it: give all ranks another one, by --rdzv-endpoint "
                         "or, under an external launcher, MASTER_PORT\n")
        self.assertFalse((self.folder / "runs").exists())

    def test_an_address_without_a_host_ends_every_rank_at_once(self):
        for rank in (0, 1):
            result = self.finish(self.start_rank(rank, free_port(), *WORDS, MASTER_ADDR="no-such-host.invalid"))
            self.assertEqual(result.code, 1)
            self.assertRegex(result.err, r"^exprun: error: network: the address of no-such-host.invalid is unknown "
                             r"\(.*\): give all ranks the name of rank 0's machine as others know it, or its address in "
                             "numbers, by --rdzv-endpoint or, under an external launcher, MASTER_ADDR\n$")

    def test_rank_0_that_connects_to_where_nobody_is_can_be_stopped(self):
        process = self.start_rank(0, free_port(), *WORDS, MASTER_ADDR="192.0.2.1")
        self.wait_until(lambda: any(catches(pid, signal.SIGUSR2) for pid in children(process.pid)), process)
        process.terminate()
        self.assertEqual(self.finish(process).code, 143)
        self.assertEqual(self.state(), "interrupted")

    def test_one_that_waits_for_rank_0_can_be_stopped_and_preempted(self):
        for number, code in ((signal.SIGTERM, -signal.SIGTERM), (signal.SIGUSR2, 75)):
            with self.subTest(number=number):
                process = self.start_rank(1, free_port(), *WORDS)
                self.wait_until(lambda: follows(process.pid) and catches(process.pid, signal.SIGUSR2), process)
                os.kill(process.pid, number)
                self.assertEqual(self.finish(process).code, code)


if __name__ == "__main__":
    unittest.main()
