"""Sweeps whose processes are killed at random, or that several processes run at once: what must hold in the end."""
import contextlib
import os
import random
import signal
import time

from support import ExprunTest, children, tensors

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

    def survive(self, trials, kills, chance):
        """Kills one of the processes, spread over the first half of the sweep, so that it cannot end before the last kill,
        and starts the sweep again when it has ended."""
        scheduler, seen, done = None, set(), 0
        while len(self.finished()) < trials:
            if scheduler is None or scheduler.poll() is not None:
                scheduler = self.start(*self.line(trials), "-j", "2")
            self.look(seen)
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

    def look(self, seen):
        """What the store says at any moment: what has finished stays so, and has one run."""
        now = self.finished()
        self.assertLessEqual(seen, now)
        seen |= now

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

    def share(self, trials, schedulers):
        line = ("sweep", "tiny.toml", f"run.seed=range({trials})", "steps=2")
        for process in [self.start(*line) for _ in range(schedulers)]:
            said = self.finish(process)
            self.assertEqual(said.code, 0, said.err)
        self.assert_each_done_once(trials)
        self.assertEqual(self.rows("SELECT max(attempt) FROM runs"), [(1,)])
