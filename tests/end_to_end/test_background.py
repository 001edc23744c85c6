"""Runs in the background: --detach starts one, logs shows what it says, stop ends it."""
import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import unittest

from support import TIMEOUT, ExprunTest

ENDLESS = ("tiny.toml", "steps=100000000", "checkpoint.every=1000000 steps")


class Background(ExprunTest):
    def detach(self, *words):
        said = self.exprun(*(words or ENDLESS), "--detach").err
        (name, process) = re.search(r"^exprun: (\S+) runs in the background \(process (\d+)\)$", said, re.M).groups()
        # A run that is stopped earlier has nothing to save, and says so in other words.
        self.await_row(f"SELECT 1 FROM runs WHERE folder = '{name}' AND last_step > 0")
        return name, int(process), said

    def await_row(self, sql):
        late = time.monotonic() + TIMEOUT
        while self.rows(sql) == []:
            self.assertLess(time.monotonic(), late)
            time.sleep(0.05)

    @staticmethod
    def lives(process):
        try:
            with open(f"/proc/{process}/stat", encoding="ascii") as stat:
                return stat.read().rpartition(")")[2].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def await_end(self, process):
        late = time.monotonic() + TIMEOUT
        while self.lives(process):
            self.assertLess(time.monotonic(), late)
            time.sleep(0.05)

    def test_a_run_trains_in_a_session_of_its_own(self):
        name, process, said = self.detach()
        self.assertTrue(said.endswith(f"  exprun logs {name} -f   follows what it says\n"
                                      f"  exprun stop {name}   saves and ends it\n"), said)
        self.assertIn("exprun: tiny: model gpt", said)
        self.assertEqual(os.getsid(process), process)
        self.assertEqual(self.state(), "running")
        self.assertRegex(self.exprun(*ENDLESS, code=1).err,
                         rf"^exprun: error: launch: {name} is this recipe's run, and it is running \(process {process} on \S+\); exprun logs "
                         rf"{name} -f follows it, exprun stop {name} saves and ends it, --new starts another\n$")
        stopped = self.exprun("stop", name).err
        step = int(re.fullmatch(rf"exprun: {name} is saved and ended at step (\d+); exprun resume {name} continues it\n", stopped)[1])
        self.assertGreater(step, 0)
        self.assertEqual(self.rows("SELECT state, last_step FROM runs"), [("interrupted", step)])
        self.assertTrue((self.run_folder() / f"checkpoints/step_{step:08d}/MANIFEST.json").exists())

    def test_what_is_resumed_or_forked_goes_to_the_background_too(self):
        name, _, _ = self.detach()
        self.exprun("stop", name)
        ((before,),) = self.rows("SELECT last_step FROM runs")
        resumed, _, said = self.detach("resume", name)
        self.assertEqual(resumed, name)
        self.assertIn(f" from step {before} of ", said)
        self.exprun("stop", name)
        forked, _, said = self.detach("fork", name, "lr=1e-3")
        self.assertNotEqual(forked, name)
        self.exprun("stop", forked)
        self.assertIn("is not key=value", self.exprun("fork", name, "lr", "--detach", code=2).err)

    def test_a_checkpoint_that_is_read_stays_while_the_run_replaces_its_old_ones(self):
        often = ("tiny.toml", "steps=100000000", "checkpoint.every=2 steps", "keep_last=2", "checkpoint.keep_best=none")
        name, _, _ = self.detach(*often)
        self.await_row("SELECT 1 FROM checkpoint")
        for _ in range(3):
            self.assertRegex(self.exprun("eval", name).out, r"step \d+: val/loss ")
            self.exprun("fork", name, "seed=5", "run.steps=100000000", "--detach", "name=forked")
            self.exprun("stop", "forked")
        self.exprun("stop", name)
        self.exprun("eval", name)
        self.assertEqual(len(list((self.folder / "runs" / name / "checkpoints").iterdir())), 2)

    def test_a_run_that_cannot_start_fails_with_its_text(self):
        failed = self.exprun("tiny.toml", "dataset.path=nowhere.txt", "--detach", code=2)
        self.assertIn("nowhere.txt", failed.err)
        self.assertNotIn("in the background", failed.err)
        self.assertFalse((self.folder / "runs").exists())
        failed = self.exprun("tiny.toml", "num_heads=3", "--detach", code=2)
        self.assertEqual(failed.err, self.exprun("tiny.toml", "num_heads=3", code=2).err)

    def test_a_run_that_fails_in_its_trainer_says_why(self):
        failed = self.exprun("tiny.toml", "expect_initial_loss=9", "--detach", code=2)
        self.assertIn("the loss of the first step is 3.", failed.err)
        self.assertEqual(self.state(), "failed")

    def test_a_run_that_ends_in_its_first_moments_is_told_to_its_end(self):
        for steps in 1, 2, 4, 8, 16, 32:  # some end after they were seen to train
            with self.subTest(steps=steps):
                said = self.exprun("tiny.toml", f"steps={steps}", "--detach").err
                self.assertTrue("in the background" in said or f"finished at step {steps}/{steps}" in said, said)

    def test_the_log_of_a_run_and_of_its_next_attempt(self):
        name, _, _ = self.detach()
        self.exprun("stop", name)
        first = self.exprun("logs", name).out
        self.assertIn("exprun: tiny: model gpt", first)
        self.assertRegex(first, r"exprun: saved in runs/\S+/checkpoints/step_\d+\n")
        self.detach()
        self.exprun("stop", name)
        both = self.exprun("logs", "@last").out
        self.assertTrue(both.startswith(first + "==> attempt 2 <==\n"), both)
        self.assertEqual(self.exprun("logs", name, "-n", "2").out, "".join(both.splitlines(True)[-2:]))

    def test_a_run_in_the_foreground_keeps_its_log_too(self):
        said = self.exprun("tiny.toml").err
        log = self.exprun("logs", "@last").out
        self.assertIn("exprun: finished at step 40/40", log)
        self.assertLessEqual(set(log.splitlines()), set(said.splitlines()))

    def test_a_quiet_run_in_the_background_has_a_whole_log(self):
        self.assertEqual(self.exprun("tiny.toml", "--detach", "-q").err, "")
        self.exprun("logs", "@last", "--follow")  # to its end
        log = self.exprun("logs", "@last").out
        self.assertIn("exprun: tiny: model gpt", log)
        self.assertIn("exprun: finished at step 40/40", log)

    def test_following_ends_with_the_run(self):
        name, _, _ = self.detach()
        following = self.start("logs", name, "-f")
        self.exprun("stop", name)
        followed = self.finish(following)
        self.assertEqual((followed.code, followed.out), (0, self.exprun("logs", name).out))

    def test_a_log_that_there_is_not(self):
        self.exprun("tiny.toml")
        name = self.run_folder().name
        missing = self.folder / f"runs/{name}/logs/attempt-1-rank-1.log"
        self.assertEqual(self.exprun("logs", name, "--rank", "1", code=1).err,
                         f"exprun: error: logs: there is no {missing}; a rank above 0 has one on the machine that it runs on\n")

    def test_a_name_means_the_run_that_can_be_stopped(self):
        first, _, _ = self.detach(*ENDLESS, "run.name=bg")
        self.exprun("tiny.toml", "steps=1", "run.name=bg")
        self.assertRegex(self.exprun("stop", "bg").err, rf"\Aexprun: {first} is saved and ended at step \d+; ")
        self.assertIn(" is not running: it is finished at step 1\n", self.exprun("stop", "bg", code=1).err)
        shutil.copy(self.folder / "tiny.toml", self.folder / "b g.toml")
        named, _, _ = self.detach("b g.toml", "name=auto", *ENDLESS[1:])
        self.exprun("b g.toml", "name=auto", "steps=1")
        self.assertIn(f"exprun: {named} is saved and ended", self.exprun("stop", "b g").err)
        self.detach(*ENDLESS, "run.name=bg", "--new")
        self.exprun("resume", first, "--detach")
        for ended in (), ("tiny.toml", "steps=2", "run.name=bg"):
            if ended:
                self.exprun(*ended)
            self.assertEqual(self.exprun("stop", "bg", code=2).err,
                             "exprun: error: stop: 2 runs named 'bg' are running; give their folders (exprun ls --where state=running)\n")
        self.exprun("stop", "bg*")

    def test_several_runs_are_stopped_at_once(self):
        names = [self.detach(*ENDLESS, f"run.name={name}")[0] for name in ("one", "other")]
        self.assertEqual(self.exprun("stop", "o*").err.count("is saved and ended at step"), 2)
        self.assertEqual(self.rows("SELECT DISTINCT state FROM runs"), [("interrupted",)])
        for name in names:
            refused = self.exprun("stop", name, code=1).err
            self.assertRegex(refused, rf"^exprun: error: stop: {name} is not running: it ended at step \d+ \(interrupted\)\n$")
        refused = self.exprun("stop", *names, code=1).err
        self.assertRegex(refused, rf"^exprun: error: stop: {names[0]} is not running: it ended at step \d+ \(interrupted\)\n$")
        self.assertEqual(self.exprun("stop", "o*", code=4).err, "exprun: error: stop: no running run matches 'o*'\n")
        self.assertEqual(self.exprun("stop", "--all").err, "exprun: no run is running here\n")

    def test_a_run_that_has_ended_does_not_keep_others_running(self):
        self.exprun("tiny.toml", "steps=1")
        done = self.run_folder().name
        for words in (), ("--no-wait",):
            name, process, _ = self.detach()
            said = self.exprun("stop", done, name, *words, code=1).err
            self.assertTrue(said.startswith(f"exprun: warning: stop: {done} is not running: it is finished at step 1\n"), said)
            self.await_end(process)
            self.assertEqual(self.rows("SELECT state FROM runs ORDER BY run DESC LIMIT 1"), [("interrupted",)])

    def test_a_suspended_run_saves_and_ends_too(self):
        """Ctrl-Z in a shell, then exprun stop in another one."""
        process = subprocess.Popen([self.program, *ENDLESS], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, process_group=0)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for_step(1, process)
        process.send_signal(signal.SIGTSTP)
        self.wait_until(lambda: self.state_of(process.pid) == "T", process)
        said = self.exprun("stop", "@last").err
        self.assertRegex(said, r"^exprun: tiny-\w{8} is saved and ended at step \d+; exprun resume tiny-\w{8} continues it\n$")
        self.assertEqual(process.wait(TIMEOUT), 143)

    def test_a_run_that_no_shell_could_continue_is_not_suspended(self):
        process = self.start(*ENDLESS)  # in a session of its own, as of a container
        self.wait_for_step(1, process)
        process.send_signal(signal.SIGTSTP)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)

    @staticmethod
    def state_of(process):
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]

    def test_a_trial_that_is_stopped_stops_its_sweep_which_is_said(self):
        process = self.start("sweep", *ENDLESS, "lr=1e-3,1e-4")
        self.wait_for_step(1, process)
        said = self.exprun("stop", "@last").err
        told = "exprun: sweep 1 stops with its trial; the command that began it continues both\n"
        self.assertIn(told, said)
        self.finish(process)
        process = self.start("resume", "@last")  # alone
        self.wait_for_step(self.last_step() + 1, process)
        self.assertNotIn("sweep", self.exprun("stop", "@last").err)
        self.finish(process)

    def test_stopping_without_waiting(self):
        _, process, _ = self.detach()
        self.assertEqual(self.exprun("stop", "--all", "--no-wait").err, "exprun: asked one run to stop\n")
        self.await_end(process)
        self.assertEqual(self.state(), "interrupted")

    def test_a_run_whose_folder_was_removed_is_seen_and_stopped(self):
        name, process, _ = self.detach()
        shutil.rmtree(self.run_folder())
        self.assertIn("running", self.exprun("ls").out)
        self.assertIn(f"exprun: {name} is saved and ended at step ", self.exprun("stop", name).err)
        self.assertFalse(self.lives(process))
        saved = self.last_step()
        resumed = self.start("resume", name)
        self.wait_for_step(saved + 1, resumed)
        self.exprun("stop", name)
        self.finish(resumed)

    def move_elsewhere(self, seen="last_beat_ms"):
        """As if the run's attempt still ran on another machine."""
        self.change_store("UPDATE attempt SET state = 'running', ended_ms = NULL, host = 'elsewhere', boot_id = 'another', "
                          f"machine_id = 'another', last_beat_ms = {seen}")

    def test_a_run_on_another_host_is_stopped_there(self):
        name, process, _ = self.detach()
        self.exprun("stop", name)
        self.move_elsewhere()
        self.assertEqual(self.exprun("stop", name, code=1).err,
                         f"exprun: error: stop: {name} may be running (process {process} on elsewhere, last seen alive just now); "
                         f"stop it on elsewhere. If elsewhere is gone: exprun stop {name} --lost\n")
        self.assertTrue(self.exprun(*ENDLESS, code=1).err.endswith(
            f"; exprun logs {name} -f follows it, --new starts another. If elsewhere is gone: exprun stop {name} --lost\n"))
        self.assertEqual(self.exprun("stop", name, "--lost", code=1).err,
                         f"exprun: error: stop: {name} is not lost: it was seen alive on elsewhere less than 30 s ago; try again "
                         "when it has been silent for that long\n")

    def test_a_run_whose_machine_is_gone_goes_on_here(self):
        name, process, _ = self.detach()
        self.assertRegex(self.exprun("stop", name, "--lost", code=1).err,
                         rf"^exprun: error: stop: {name} is not lost: it is running \(process {process} on \S+\); "
                         "stop it without --lost\n$")
        self.exprun("stop", name)
        self.move_elsewhere("last_beat_ms - 3600000")
        self.assertIn("last seen alive 1h ago", self.exprun("resume", name, code=1).err)
        with open(self.run_folder() / "run.lock", "r+b") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX, 1)
            self.assertEqual(self.exprun("stop", name, "--lost", code=1).err,
                             f"exprun: error: stop: {name} is not lost: a process holds its lock, "
                             f"{self.folder.resolve()}/runs/{name}/run.lock\n")
        self.assertEqual(self.exprun("stop", name, "--lost", "--no-wait", code=2).err,
                         "exprun: error: stop: --lost waits for no end; leave out --no-wait\n")
        ((step,),) = self.rows("SELECT last_step FROM runs")
        self.assertEqual(self.exprun("stop", name, "--lost").err,
                         f"exprun: {name} is recorded as crashed at step {step}; exprun resume {name} continues it\n")
        self.assertEqual(self.rows("SELECT state, message FROM runs"), [("crashed", "its machine, elsewhere, is gone")])
        self.assertEqual(self.detach("resume", name)[0], name)
        self.exprun("stop", name)

    def test_what_is_missing_on_the_line(self):
        self.exprun("tiny.toml")
        self.assertEqual(self.exprun("stop", code=2).err, "exprun: error: stop: say which run, or --all\n")
        self.assertEqual(self.exprun("stop", "x", "--all", code=2).err, "exprun: error: stop: --all leaves no run to name\n")


if __name__ == "__main__":
    unittest.main()
