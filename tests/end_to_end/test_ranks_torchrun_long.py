"""Ranks that torchrun starts: the same command joins them, and ends, fails and is restarted as torchrun expects.

EXPRUN_TORCH_PYTHON names a Python that can import torch (tools/setup/torch_python finds or makes one); without it the
one that runs this test is tried, and else these tests are skipped.
"""
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from support import BUILD, ExprunTest, end, free_ports

WORDS = ("tiny.toml", "sequences=8", "micro_batch=2", "max_grad_norm=1.0", "strategy=zero1")


def torch_python():
    python = os.environ.get("EXPRUN_TORCH_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", "import torch.distributed.run"], capture_output=True)
    if found.returncode == 0:
        return python
    if "EXPRUN_TORCH_PYTHON" in os.environ:
        raise RuntimeError(f"EXPRUN_TORCH_PYTHON cannot import torch: {found.stderr.decode()}")
    raise unittest.SkipTest("no Python with torch: EXPRUN_TORCH_PYTHON names one")


class Torchrun(ExprunTest):
    @classmethod
    def setUpClass(cls):
        cls.python = torch_python()

    def torchrun(self, *words, restarts=0):
        return self.torchrun_program(BUILD / "exprun", *words, restarts=restarts)

    def torchrun_program(self, *program, restarts=0):
        return self.start_agent("--nproc-per-node", "2", "--rdzv-backend", "static", "--master-addr", "127.0.0.1",
                                "--master-port", str(*free_ports(1)), "--max-restarts", str(restarts), *program)

    def start_agent(self, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EXPRUN_")}
        environment["XDG_CACHE_HOME"] = str(self.folder / "cache")
        process = subprocess.Popen(
            [self.python, "-m", "torch.distributed.run", "--no-python", "--monitor-interval", "0.2", *words],
            cwd=self.folder, env=environment, text=True, errors="replace", stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(end, process)
        return process

    def start_two_agents(self, *words, restarts):
        """As on two machines: each counts the restarts that are its own rank's doing."""
        endpoint = f"127.0.0.1:{free_ports(1)[0]}"
        return [self.start_agent("--nnodes", "2", "--nproc-per-node", "1", "--rdzv-backend", "c10d", "--rdzv-endpoint",
                                 endpoint, "--max-restarts", str(restarts), BUILD / "exprun", *words) for _ in range(2)]

    def followers(self):
        """Processes of ranks above 0 that work here."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"--follow" in words and (entry / "cwd").resolve() == self.folder.resolve():
                    found.append(int(entry.name))
            except OSError:  # it has just ended
                pass
        return found

    def assert_nothing_left(self):
        late = time.monotonic() + self.timeout
        while self.followers():
            self.assertLess(time.monotonic(), late, "a rank outlives torchrun")
            time.sleep(0.05)

    def test_two_ranks_train_as_two_of_our_own(self):
        result = self.finish(self.torchrun(*WORDS))
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(self.state(), "finished")
        self.exprun(*WORDS, "world_size=2", "--new")
        self.assertEqual(self.series(1), self.series(2))
        again = self.finish(self.torchrun(*WORDS))  # nothing is to be done, and rank 1 hears of it
        self.assertEqual(again.code, 0, again.err)
        self.assertIn("nothing to do", again.err)
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(2,)])

    def test_a_rank_that_dies_is_restarted_with_all_others_to_the_same_bits(self):
        words = (*WORDS, "steps=2000", "checkpoint.every='50 steps'")
        process = self.torchrun(*words, restarts=1)
        self.wait_for_step(120, process)
        (victim,) = self.followers()
        os.kill(victim, signal.SIGKILL)
        result = self.finish(process)
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(self.rows("SELECT state, attempt, last_step FROM runs"), [("finished", 2, 2000)])
        self.assertIn("continues from step ", result.err)
        self.assert_nothing_left()
        self.exprun(*words, "world_size=2", "--new")
        self.assertEqual(self.series(1), self.series(2))

    def test_a_rank_that_dies_is_restarted_with_those_of_another_agent(self):
        words = (*WORDS, "steps=4000", "checkpoint.every='50 steps'")
        agents = self.start_two_agents(*words, restarts=1)
        self.wait_for_step(120, agents[0])
        (victim,) = self.followers()
        os.kill(victim, signal.SIGKILL)
        results = [self.finish(agent) for agent in agents]
        self.assertEqual([result.code for result in results], [0, 0], results[0].err + results[1].err)
        self.assertEqual(self.rows("SELECT state, attempt, last_step FROM runs"), [("finished", 2, 4000)])
        self.assert_nothing_left()

    def test_a_job_of_several_commands_runs_them_one_after_another(self):
        script = ' '.join(['"$0" -q', *WORDS])
        result = self.finish(self.torchrun_program(
            "bash", "-c", f"{script} lr=1e-3; {script} lr=-1; exec {script} lr=2e-3", BUILD / "exprun"))
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(self.rows("SELECT state FROM runs"), [("finished",)] * 2)

    def test_a_rank_that_comes_late_to_a_shutdown_does_not_meet_the_next_command(self):
        script = ' '.join(['"$0" -q', *WORDS])
        result = self.finish(self.torchrun_program(
            "bash", "-c", f'[ "$RANK" = 0 ] || sleep 65; {script} lr=-1; exec {script} lr=2e-3', BUILD / "exprun"),
            timeout=600)
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(self.rows("SELECT state FROM runs"), [("finished",)])

    def test_a_mistake_in_the_recipe_is_torchruns_root_cause(self):
        result = self.finish(self.torchrun(*WORDS, "lr=-1"))
        self.assertEqual(result.code, 1)
        self.assertIn("'lr' must be > 0", result.err[result.err.index("Root Cause"):])
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
