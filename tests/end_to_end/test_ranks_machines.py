"""One run on two machines: network name spaces of this test's own, with a cable between them that can be cut."""
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import unittest

from support import BUILD, ExprunTest, children, end, free_ports

WORDS = ("tiny.toml", "sequences=8", "micro_batch=2", "strategy=zero1")
PORT = 29517


def open_files(pid):
    """The descriptors of a process, each with what it leads to; those that it closes meanwhile are left out."""
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield link, os.readlink(link)


def reads(pids):
    """Whether one of them is connected: a trainer has no socket before."""
    return any(target.startswith("socket:") for pid in pids for _, target in open_files(pid))


def has_heard(process):
    """Whether the launcher of a machine without rank 0 knows from its ranks what rank 0 has said to them."""
    for link, target in open_files(process.pid):
        if target.startswith("/memfd:restarts"):
            return link.read_bytes() != b""
    return False


def asks_for_life(port):
    """Whether a connection to this port of the loopback has a timer that keeps it alive."""
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return any(remote == f"0100007F:{port:04X}" and timer.startswith("02:") for _, _, remote, _, _, timer, *_ in rows)


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Machines(ExprunTest):
    """first and second, as Debian sets them up: a machine's own name is at 127.0.1.1 there."""

    def setUp(self):
        super().setUp()
        if os.geteuid() or not shutil.which("ip"):
            self.skipTest("network name spaces need root and iproute2")
        self.machines = ["-".join([*self.folder.parts[2:], name]) for name in ("first", "second")]
        hosts = ("127.0.1.1 first\n", "10.213.77.1 first\n")
        for machine, text in zip(self.machines, hosts):
            ip("netns", "add", machine)
            self.addCleanup(ip, "netns", "del", machine)
            folder = pathlib.Path("/etc/netns", machine)  # what `ip netns exec` mounts below /etc
            folder.mkdir(parents=True)
            self.addCleanup(shutil.rmtree, folder)
            (folder / "hosts").write_text("127.0.0.1 localhost\n" + text)
            ip("-n", machine, "link", "set", "lo", "up")
        first, second = self.machines
        ip("link", "add", "cable", "netns", first, "type", "veth", "peer", "name", "cable", "netns", second)
        for number, machine in enumerate(self.machines, start=1):
            ip("-n", machine, "addr", "add", f"10.213.77.{number}/24", "dev", "cable")
            ip("-n", machine, "link", "set", "cable", "up")

    def start_on(self, number, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EXPRUN_")}
        process = subprocess.Popen(
            ["ip", "netns", "exec", self.machines[number], BUILD / "exprun", *words, "--nnodes=2",
             f"--node-rank={number}", f"--rdzv-endpoint=first:{PORT}"],
            cwd=self.folder, env=environment | {"XDG_CACHE_HOME": str(self.folder / "cache")}, text=True,
            errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)
        self.addCleanup(end, process)
        return process

    def start_both(self, *words):
        return [self.start_on(number, *words) for number in (1, 0)][::-1]

    def finish_both(self, processes):
        return [self.finish(process) for process in processes]

    def test_the_ranks_of_two_machines_make_one_run(self):
        first, second = self.finish_both(self.start_both(*WORDS, "--nproc-per-node=2", "max_grad_norm=1.0"))
        self.assertEqual((first.code, second.code), (0, 0), first.err + second.err)
        self.assertIn("launch: ranks 2 to 3 of 4; waiting for rank 0 at first:", second.err)
        self.assertEqual(self.state(), "finished")
        self.exprun(*WORDS, "world_size=4", "max_grad_norm=1.0", "--new")
        self.assertEqual(self.series(1), self.series(2))

    def test_a_cable_that_is_cut_ends_all_ranks(self):
        first, second = self.start_both(*WORDS, "steps=100000000", "timeout='10 s'", "checkpoint.every='1000000 steps'")
        self.wait_for_step(20, first)
        ranks = children(first.pid) + children(second.pid)
        self.assertEqual(len(ranks), 2)
        ip("-n", self.machines[0], "link", "set", "cable", "down")
        results = self.finish_both((first, second))
        self.assertEqual([result.code for result in results], [1, 1])
        ((state, message),) = self.rows("SELECT state, message FROM runs")
        self.assertEqual(state, "failed")
        self.assertRegex(message, "dist: rank 0 lost contact with the other ranks in [a-z-]+: .*; "
                                  "rank 1 does not respond: it hangs or is no longer running$")
        self.assertRegex(results[1].err, "dist: rank 1 lost contact with the other ranks in [a-z-]+: .*; "
                                         "rank 0 does not respond: it hangs or is no longer running\n")
        for pid in ranks:
            self.assertFalse(pathlib.Path(f"/proc/{pid}/exe").exists(), f"rank process {pid} lives")

    def test_all_are_restarted_when_a_rank_of_another_machine_dies(self):
        words = (*WORDS, "steps=400", "checkpoint.every='50 steps'", "max_restarts=1")
        first, second = self.start_both(*words)
        self.wait_for_step(100, first)
        os.kill(children(second.pid)[0], signal.SIGKILL)
        results = self.finish_both((first, second))
        self.assertEqual([result.code for result in results], [0, 0], results[0].err + results[1].err)
        for result in results:
            self.assertIn("launch: restart 1 of 1 of all ranks\n", result.err)
        self.assertEqual(self.rows("SELECT state, attempt, last_step FROM runs"), [("finished", 2, 400)])

    def test_a_mistake_ends_the_command_on_all_machines(self):
        first, second = self.finish_both(self.start_both(*WORDS, "lr=-1", "max_restarts=3"))
        self.assertEqual((first.code, second.code), (2, 2), first.err + second.err)
        self.assertIn("'lr' must be > 0", first.err)
        self.assertRegex(second.err, "^exprun: launch: ranks 1 to 1 of 2; waiting for rank 0 at [^\n]*\n"
                                     "exprun: error: rank 0 says: [^\n]*: error: 'lr' must be > 0[^\n]*\n$")


class OnOneHost(ExprunTest):
    """The commands of several machines, given on one: they meet at its loopback."""

    def setUp(self):
        super().setUp()
        (self.port,) = free_ports(1)

    def start_on(self, number, machines, *words, **variables):
        return self.start(*words, f"--nnodes={machines}", f"--node-rank={number}",
                          f"--rdzv-endpoint=127.0.0.1:{self.port}", variables=variables)

    def finish_all(self, processes):
        return [self.finish(process) for process in processes]


class OneHost(OnOneHost):
    def test_one_that_waits_notices_when_the_other_machine_loses_its_power(self):
        with socket.socket() as launcher:  # it listens, and prepares data
            launcher.bind(("127.0.0.1", self.port))
            launcher.listen()
            second = self.start_on(1, 2, *WORDS)
            self.wait_until(lambda: asks_for_life(self.port), second)

    def test_rank_0_that_is_stopped_while_it_waits_ends_those_who_came_and_keeps_the_run(self):
        words = (*WORDS, "sequences=6", "steps=20", "max_restarts=3")
        second = self.start_on(1, 3, *words)
        first = self.start_on(0, 3, *words)
        self.wait_until(lambda: children(first.pid), first)
        self.wait_until(lambda: reads(children(second.pid)), second)
        first.terminate()
        results = self.finish_all((first, second))
        self.assertEqual([result.code for result in results], [143, 143], results[0].err + results[1].err)
        self.assertNotIn("restart", results[1].err)
        self.assertIn("is interrupted; exprun resume", results[0].err)
        self.assertIn(", started for all ranks as this was, trains it again from the start: it has no checkpoint\n", results[0].err)
        again = self.finish_all([self.start_on(number, 3, *words) for number in (2, 1, 0)])
        self.assertEqual([result.code for result in again], [0] * 3, again[2].err)
        self.assertEqual(self.rows("SELECT state, attempt, last_step FROM runs"), [("finished", 2, 20)])

    def test_a_machine_whose_command_is_given_again_before_all_have_come_takes_part(self):
        words = (*WORDS, "sequences=6", "steps=20")
        first = self.start_on(0, 3, *words)
        former = self.start_on(1, 3, *words)
        self.wait_until(lambda: has_heard(former), former)
        former.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(former).code, 128 + signal.SIGINT)
        second = self.start_on(1, 3, *words)
        self.wait_until(lambda: has_heard(second), second)
        results = self.finish_all((first, second, self.start_on(2, 3, *words)))
        self.assertEqual([result.code for result in results], [0] * 3, results[0].err)

    def test_the_other_machines_do_not_wait_for_a_rank_0_that_ends_for_good(self):
        first, second = (self.start_on(number, 2, *WORDS, "steps=100000000", "checkpoint.every='1000000 steps'",
                                       "max_restarts=3") for number in (0, 1))
        self.wait_for_step(20, first)
        (trainer,) = children(first.pid)
        os.kill(trainer, signal.SIGSTOP)  # or it would save and end in order
        first.terminate()
        os.kill(trainer, signal.SIGKILL)
        results = self.finish_all((first, second))
        self.assertEqual([result.code for result in results], [128 + signal.SIGKILL] * 2)
        self.assertIn("launch: restart 1 of 3 of all ranks\n", results[1].err)
        self.assertIn("rank 0 says: rank 0: ended by SIGKILL", results[1].err)

    def test_a_run_of_two_machines_is_resumed_on_two(self):
        both = [self.start_on(number, 2, *WORDS, "steps=400") for number in (1, 0)]
        self.wait_for_step(50, both[1])
        both[1].send_signal(signal.SIGINT)
        self.assertEqual([result.code for result in self.finish_all(both)], [130, 130])
        refused = self.exprun("resume", "@last", code=2).err
        name = self.run_folder().name
        ((command,),) = self.rows("SELECT command_line FROM runs")
        self.assertEqual(refused, f"exprun: error: resume: {name} has trained with 2 ranks on several machines ({command}"
                         f"); give `exprun resume {name}` to each of them, with the same launcher or --nnodes and the "
                         "other options, or say how many ranks this machine is to make: `exprun resume "
                         f"{name} world_size=1`\n")
        both = [self.start_on(number, 2, "resume", "@last") for number in (1, 0)]
        self.assertEqual([result.code for result in self.finish_all(both)], [0, 0])
        self.assertEqual(self.rows("SELECT state, attempt, last_step FROM runs"), [("finished", 2, 400)])

    def test_a_rank_that_dies_is_named_by_the_launcher_of_its_machine(self):
        both = [self.start_on(number, 2, *WORDS, "steps=100000", "checkpoint.every='1000 steps'") for number in (1, 0)]
        self.wait_for_step(20, both[1])
        (victim,) = children(both[0].pid)
        os.kill(victim, signal.SIGKILL)
        second, first = self.finish_all(both)
        self.assertEqual((second.code, first.code), (128 + signal.SIGKILL, 1), first.err)
        self.assertIn("exprun: error: rank 1: ended by SIGKILL (kill -9, or out of memory)\n", second.err)
        for rank in (0, 1):
            log = self.run_folder() / f"logs/attempt-1-rank-{rank}.log"
            self.assertIn("100,000 steps of 128 tokens\n", log.read_text())

    def test_an_interface_may_be_named_on_one_machine_only(self):
        second = self.start_on(1, 2, *WORDS, "steps=3", GLOO_SOCKET_IFNAME="lo")
        first = self.start_on(0, 2, *WORDS, "steps=3")
        self.assertEqual([result.code for result in self.finish_all((first, second))], [0, 0])

    def test_a_mistake_is_shown_at_once_though_nobody_else_came(self):
        process = self.start_on(0, 2, *WORDS, "lr=-1")
        self.assertIn("'lr' must be > 0", process.stderr.readline())
        self.wait_until(lambda: children(process.pid), process)  # only then is the other awaited
        self.assertEqual(self.finish(process).code, 2)


class Flags(ExprunTest):
    def test_machines_that_make_no_sense_are_refused(self):
        for words, text in (
                (("--nnodes=2", "--node-rank=2", "--rdzv-endpoint=a:1"), "--node-rank must be from 0 to 1, not 2"),
                (("--nnodes=2",), "--rdzv-endpoint takes HOST:PORT of the machine with --node-rank=0, not ''"),
                (("--node-rank=1",), "--node-rank and --rdzv-endpoint need --nnodes, the number of machines"),
                (("--rdzv-endpoint=a:1",), "--node-rank and --rdzv-endpoint need --nnodes, the number of machines")):
            for command in (("tiny.toml",), ("resume", "@last")):
                self.assertEqual(self.exprun(*command, *words, code=2).err, f"exprun: error: command line: {text}\n")

    def test_a_number_that_is_none_is_named(self):
        for words, text in ((("--nnodes",), "--nnodes needs a value"),
                            (("--nproc-per-node=-2",), "--nproc-per-node takes a whole number of at least 1, not '-2'"),
                            (("--nnodes=0",), "--nnodes takes a whole number of at least 1, not '0'"),
                            (("--nnodes=two",), "--nnodes takes a whole number of at least 1, not 'two'")):
            self.assertEqual(self.exprun("tiny.toml", *words, code=2).err,
                             f"exprun: error: {text}\n  usage: exprun RECIPE [key=value...] [--new] [--detach]\n")

    def test_ranks_on_one_machine_need_no_endpoint(self):
        self.exprun("tiny.toml", "sequences=8", "--nproc-per-node=2", "steps=2")
        self.assertEqual(sorted(log.name for log in self.run_folder().glob("logs/*")),
                         ["attempt-1-rank-0.log", "attempt-1-rank-1.log"])


if __name__ == "__main__":
    unittest.main()
