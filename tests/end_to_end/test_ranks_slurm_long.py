"""Ranks that a real SLURM starts, a small one of this test's own: srun's tasks join, and a job script is requeued."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from support import BUILD, ROOT, ExprunTest, Result, free_ports

WORDS = ("tiny.toml", "sequences=8", "micro_batch=2", "strategy=zero1")
CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost
SlurmctldPort={controller_port}
SlurmdPort={daemon_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/daemon.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/daemon.log
ReturnToService=2
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
NodeName=localhost CPUs={cpus} State=UNKNOWN
PartitionName=test Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""


class Cluster:
    """munged, slurmctld and slurmd in a folder of their own."""

    def __init__(self):
        missing = [name for name in ("munged", "slurmctld", "slurmd", "srun") if not shutil.which(name)]
        if missing:
            raise unittest.SkipTest(f"no {', '.join(missing)}: apt-get install slurm-wlm munge")
        if os.geteuid():
            raise unittest.SkipTest("SLURM's daemons need root")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="exprun-slurm-"))
        self.folder.chmod(0o755)
        self.processes = []
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"),
                            "PATH": f"{BUILD}:{os.environ['PATH']}"}

    def start(self):
        controller_port, daemon_port = free_ports(2)
        (self.folder / "state").mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o600)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            folder=self.folder, controller_port=controller_port, daemon_port=daemon_port, cpus=max(4, os.cpu_count())))
        self.daemon("munged", "--foreground", "--force", f"--socket={self.folder}/munge.sock",
                    f"--key-file={self.folder}/munge.key", f"--pid-file={self.folder}/munge.pid",
                    f"--log-file={self.folder}/munge.log", f"--seed-file={self.folder}/munge.seed")
        self.wait(lambda: (self.folder / "munge.sock").exists(), "munged does not start")
        self.daemon("slurmctld", "-D")
        self.daemon("slurmd", "-D", "-N", "localhost")
        self.wait(lambda: "idle" in self.run("sinfo", "-h", "-o", "%t").out, "SLURM has no idle node")

    def daemon(self, *words):
        log = open(self.folder / f"{words[0]}.out", "wb")
        self.processes.append(subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log,
                                               stderr=log, start_new_session=True))
        log.close()

    def run(self, *words, cwd=None):
        done = subprocess.run(words, env=self.environment, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300)
        return Result(done.returncode, done.stdout, done.stderr)

    def wait(self, happened, what, timeout=300):
        late = time.monotonic() + timeout
        while not happened():
            if time.monotonic() > late:
                raise AssertionError(what)
            time.sleep(0.1)

    def stop(self):
        try:
            self.run("scancel", "--user=root")  # a job would outlive the daemons
            self.wait(lambda: not self.run("squeue", "-h").out, "jobs do not end")
        finally:
            self.stop_daemons()

    def stop_daemons(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def recommended_options(script):
    """Of sbatch, as the head of the script says, for this one machine."""
    (options,) = re.findall(r"^#   sbatch \[(.*) \.\.\.\]", script.read_text(encoding="utf-8"), re.MULTILINE)
    return options.replace("--nodes=2", "--nodes=1").replace("--ntasks-per-node=8", "--ntasks-per-node=4").split()


class Slurm(ExprunTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.start()

    def srun(self, *words):
        return self.cluster.run("srun", "-n2", "--overcommit", "--kill-on-bad-exit=1", "exprun", *words, cwd=self.folder)

    def test_the_tasks_of_srun_are_the_ranks(self):
        result = self.srun(*WORDS)
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(self.state(), "finished")
        self.exprun(*WORDS, "world_size=2", "--new")
        self.assertEqual(self.series(1), self.series(2))
        bad = self.srun(*WORDS, "lr=-1")
        self.assertEqual(bad.code, 2, bad.err)
        self.assertEqual(bad.err.count("'lr' must be > 0"), 1)

    def test_a_job_that_is_preempted_goes_back_into_the_queue_and_on(self):
        words = (*WORDS, "steps=3000", "checkpoint.every='100 steps'")
        script = ROOT / "tools/slurm/train.sbatch"
        submitted = self.cluster.run("sbatch", "--parsable", "--overcommit", *recommended_options(script), script,
                                     *words, cwd=self.folder)
        self.assertEqual(submitted.code, 0, submitted.err)
        job = submitted.out.strip()
        self.cluster.wait(lambda: self.last_step() > 100, "the job does not train")
        self.cluster.run("scancel", "--signal=USR2", job)
        self.cluster.wait(lambda: self.state() == "preempted", "the run was not preempted")
        # A requeued job may wait two minutes before it is looked at.
        self.cluster.wait(lambda: "PENDING" in self.cluster.run("squeue", "-h", "-j", job, "-o", "%T").out,
                          "the job is not back in the queue")
        self.cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now")
        self.cluster.wait(lambda: self.state() == "finished", "the job did not end", timeout=900)
        self.assertEqual(self.rows("SELECT attempt, last_step FROM runs"), [(2, 3000)])
        self.exprun(*words, "world_size=4", "--new")
        self.assertEqual(self.series(1), self.series(2))

    def test_the_job_script_resumes_a_run(self):
        process = self.start(*WORDS, "steps=2000", "checkpoint.every='50 steps'")
        self.wait_for_step(60, process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)
        submitted = self.cluster.run("sbatch", "--wait", "--overcommit", ROOT / "tools/slurm/train.sbatch", "resume",
                                     "@last", cwd=self.folder)
        self.assertEqual(submitted.code, 0, submitted.err)
        self.assertEqual(self.rows("SELECT state, attempt, last_step FROM runs"), [("finished", 2, 2000)])


if __name__ == "__main__":
    unittest.main()
