"""Sweeps whose processes are killed at random, or that several processes run at once: what must hold in the end."""
import contextlib
import itertools
import json
import os
import random
import signal
import sqlite3
import time

from support import ExprunTest, children, tensors
from temporary_folder import processes_in

STEPS = 480  # of a trial that may be stopped early
# Trials that a kill may hit at any step, with something to go on from.
TRIAL = ("steps=60", "checkpoint.every=7 steps", "evaluation.val_loss.every=20 steps")


class SweepCrashes(ExprunTest):
    def line(self, trials):
        return ("sweep", "tiny.toml", f"run.seed=range({trials})", *TRIAL)

    def finished(self):
        with contextlib.suppress(Exception):  # the store is just being made
            return {run for (run,) in self.rows("SELECT run FROM trials WHERE state = 'finished'")}
        return set()

    def processes(self, scheduler):
        """The scheduler, its launchers and their trainers."""
        launchers = children(scheduler.pid)
        return [scheduler.pid, *launchers, *(trainer for launcher in launchers for trainer in children(launcher))]

    def kill_all(self, scheduler):
        """The trainers first, so that none has the time to save."""
        for process in reversed(self.processes(scheduler)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        scheduler.wait()

    def survive(self, trials, kills, chance):
        """Kills one of the processes, spread over the first half of the sweep, so that it cannot end before the last kill,
        and starts the sweep again when it has ended."""
        scheduler, seen, done = None, set(), 0
        while len(self.finished()) < trials:
            if scheduler is None or scheduler.poll() is not None:
                if scheduler:
                    self.look_at_rest()
                scheduler = self.start(*self.line(trials), "-j", "2")
            self.look(seen, trials)
            if done < kills and len(seen) >= done * (trials // 2) // kills:
                time.sleep(chance.uniform(0, 0.5))
                victims = self.processes(scheduler)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(chance.choice(victims), chance.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
                    done += 1
            time.sleep(0.02)
        self.assertEqual(done, kills)
        said = self.finish(self.start(*self.line(trials), "-j", "2"))
        self.assertEqual(said.code, 0, said.err)
        self.assertIn(f"{trials} of {trials} trials finished\n", said.err)

    def look(self, seen, trials):
        """What the store says at any moment: what has finished stays so, a trial and its run say the same of each other, and
        the sweep's state follows from its trials."""
        now = self.finished()
        self.assertLessEqual(seen, now)
        seen |= now
        with contextlib.suppress(sqlite3.OperationalError):  # the store is just being made
            for count, states, state in self.rows("SELECT count(*), group_concat(DISTINCT t.state), w.state "
                                                  "FROM trials AS t JOIN sweeps AS w USING (sweep)"):
                if count:
                    self.assertEqual(count, trials)
                    self.assertEqual(state, state_of(set(states.split(","))))
            self.assertEqual(self.rows("SELECT r.run FROM runs AS r LEFT JOIN trials AS t ON t.run = r.run AND t.sweep = r.sweep "
                                       "AND t.trial = r.trial AND t.state = r.state WHERE t.run IS NULL"), [])

    def look_at_rest(self):
        """No process of the sweep lives: nothing is told to run."""
        self.wait_for_the_end_of_trials()
        if not (self.folder / "runs/exprun.db").exists():
            return  # killed before it had made the store
        with contextlib.suppress(sqlite3.OperationalError):  # a write-ahead log that the next writer recovers
            if not self.rows("SELECT name FROM sqlite_master LIMIT 1"):
                return
        sweeps = json.loads(self.exprun("sweep", "ls", "--json").out)
        if not sweeps:
            self.assertEqual(self.rows("SELECT count(*) FROM run"), [(0,)])
            return
        (sweep,) = sweeps
        self.assertNotEqual(sweep["state"], "running")
        shown = json.loads(self.exprun("sweep", "show", "1", "--json").out)
        self.assertEqual([trial for trial in shown["trials"] if trial["state"] == "running"], [])

    def wait_for_the_end_of_trials(self):
        """The trials of a scheduler that was killed save their state before they end."""
        end = time.monotonic() + self.timeout
        while any(processes_in(self.folder)):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)

    def assert_each_done_once(self, trials):
        self.assertEqual(self.rows("SELECT count(*), count(DISTINCT run) FROM trials WHERE state = 'finished'"), [(trials, trials)])
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(trials,)])
        again = "SELECT count(*) FROM attempt AS a JOIN attempt AS b USING (run) WHERE a.state = 'finished' AND b.attempt > a.attempt"
        self.assertEqual(self.rows(again), [(0,)])
        self.assertEqual(self.rows("SELECT state FROM sweeps"), [("finished",)])

    def assert_equal_to_runs_alone(self, trials):
        for seed in range(trials):
            self.exprun("tiny.toml", f"run.seed={seed}", *TRIAL, "--store", "alone")
        for seed in range(trials):
            ((run, folder),) = self.rows("SELECT run, folder FROM runs WHERE seed = ?", seed)
            ((alone, other),) = self.rows("SELECT run, folder FROM runs WHERE seed = ?", seed, store="alone")
            with self.subTest(seed=seed):
                self.assertEqual(self.series(run), self.series(alone, store="alone"))
                self.assertEqual(self.weights("runs", folder), self.weights("alone", other))

    def series(self, run, store="runs"):
        return self.rows("SELECT name, step, value FROM metrics JOIN series USING (run, name) "
                         "WHERE NOT timing AND run = ? ORDER BY name, step", run, store=store)

    def weights(self, store, folder):
        return tensors(self.folder / store / folder / "checkpoints/step_00000060/model.safetensors")

    def crash(self, trials, kills, seed):
        self.survive(trials, kills, random.Random(seed))
        self.assert_each_done_once(trials)
        self.assert_equal_to_runs_alone(trials)

    def go_on_from_checkpoints(self):
        line = ("sweep", "tiny.toml", "run.seed=1,2", "steps=100000000", "checkpoint.every=20 steps", "-j", "2")
        scheduler = self.start(*line)
        saved = "SELECT run, max(step) FROM checkpoint GROUP BY run HAVING max(step) >= 40"
        self.wait_for_step(1, scheduler)
        self.wait_until(lambda: len(self.rows(saved)) == 2, scheduler)
        self.kill_all(scheduler)
        self.wait_for_the_end_of_trials()
        saved_before = self.rows(saved)
        scheduler = self.start(*line)
        begun = "SELECT run, from_step FROM attempt WHERE attempt = 2"
        self.wait_until(lambda: len(self.rows(begun)) == 2, scheduler)
        begun_at = dict(self.rows(begun))
        for run, step in saved_before:  # one more may have been complete without its row
            self.assertIn(begun_at[run], (step, step + 20))
        scheduler.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(scheduler).code, 130)

    def look_at_young_trainers(self, delays):
        """Kills the scheduler so long after its start; until all has ended, each trainer that lives is known to the store."""
        seen = set()
        longer = (delays[-1] * 2 ** doublings for doublings in range(1, 8))  # a busy machine has started none yet
        for delay in itertools.chain(delays, itertools.takewhile(lambda _: not seen, longer)):
            scheduler = self.start("sweep", "tiny.toml", "run.seed=1,2", "steps=100000000", "-j", "2")
            late = time.monotonic() + delay
            while time.monotonic() < late:
                seen |= self.known_trainers()
            scheduler.kill()
            scheduler.wait()
            while any(processes_in(self.folder)):
                seen |= self.known_trainers()
        self.assertTrue(seen, "no look has seen a trainer")

    def known_trainers(self):
        """The runs of those that live before and after a look at the store, which has all of them running."""
        before = self.living_trainers()
        if not before:
            return set()
        running = {run for (run,) in self.rows("SELECT run FROM runs WHERE state = 'running'")}
        living = before & self.living_trainers()
        self.assertLessEqual(living, running)
        return living

    def living_trainers(self):
        """The runs of the trainers of this folder."""
        runs = set()
        for process in processes_in(self.folder):
            with contextlib.suppress(OSError), open(f"/proc/{process}/cmdline", encoding="utf-8") as file:
                words = file.read().split("\0")
                if words[0].endswith("exprun-trainer") and "--run-id" in words:
                    runs.add(int(words[words.index("--run-id") + 1]))
        return runs

    def crash_with_early_stopping(self, trials, kills, seed):
        """The last look of a sweep leaves no trial stopped that its rule would go on with, as the store's metrics say it: whatever
        was killed between two decisions. The same line once more changes nothing."""
        chance, first_rung, reduction = random.Random(seed), 40, 2
        rates = ",".join(f"{rate}e-4" for rate in chance.sample(range(1, 100), trials))
        line = ("sweep", "tiny.toml", f"lr={rates}", f"steps={STEPS}", "checkpoint.every=20 steps", "evaluation.val_loss.every=20 steps",
                "--early-stop", "asha", "--reduction", str(reduction), "--min-steps", str(first_rung), "-j", "2")
        for _ in range(kills):
            sweep = self.start(*line)
            time.sleep(chance.uniform(0.5, 2))
            sweep.kill()
            sweep.wait()
            self.wait_for_the_end_of_trials()
        self.exprun(*line)
        before = self.rows("SELECT run, state, attempt, last_step FROM runs ORDER BY run")
        self.assertEqual({state for _, state, _, _ in before}, {"finished", "pruned"})
        values = {run: self.rows("SELECT step, value FROM metrics WHERE run = ? AND name = 'val/loss' ORDER BY step", run)
                  for run, *_ in before}
        order = {run: trial for run, trial in self.rows("SELECT run, trial FROM trials")}
        for run, state, _, _ in before:
            if state == "pruned":
                self.assertTrue(falls_behind(run, values, order, first_rung, reduction), (run, values))
        self.exprun(*line)
        self.assertEqual(self.rows("SELECT run, state, attempt, last_step FROM runs ORDER BY run"), before)

    def share(self, trials, schedulers):
        line = ("sweep", "tiny.toml", f"run.seed=range({trials})", "steps=2")
        for process in [self.start(*line) for _ in range(schedulers)]:
            said = self.finish(process)
            self.assertEqual(said.code, 0, said.err)
        self.assert_each_done_once(trials)
        self.assertEqual(self.rows("SELECT max(attempt) FROM runs"), [(1,)])


def state_of(trials):
    """Of a sweep whose trials are in these states, as store/FORMAT.md says it."""
    if "running" in trials:
        return "running"
    if trials & {"waiting", "interrupted", "preempted", "killed", "crashed"}:
        return "interrupted"
    return "failed" if trials & {"failed", "diverged"} else "finished"


def falls_behind(run, values, order, first_rung, reduction):
    """Asynchronous successive halving, told once more: whether the run is not among the best of those at its last rung."""
    rungs = [rung for rung in (first_rung * reduction ** power for power in range(9)) if rung <= values[run][-1][0] and rung < STEPS]
    if not rungs:
        return False
    best = {each: min(value for step, value in curve if step <= rungs[-1])
            for each, curve in values.items() if curve and curve[-1][0] >= rungs[-1]}
    ranking = sorted(best, key=lambda each: (best[each], order[each]))
    return ranking.index(run) >= max(1, len(best) // reduction)
