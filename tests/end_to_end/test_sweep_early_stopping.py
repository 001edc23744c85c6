"""Trials of a sweep that are stopped early, and by what trials are compared."""
import json
import pathlib
import signal
import unittest

from sweep_crashes import SweepCrashes

ENDLESS = ("steps=100000000", "evaluation.val_loss.every=20 steps", "evaluation.val_loss.tokens=64", "checkpoint.every=1000000 steps",
           "--early-stop", "asha", "--reduction", "2", "--min-steps", "40")


class EarlyStopping(SweepCrashes):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.wait_for_the_end_of_trials)

    def test_a_trial_is_compared_with_those_that_another_process_runs(self):
        """Also with those that wait in its own process."""
        line = ("sweep", "tiny.toml", "lr=1e-5,1e-2", *ENDLESS)
        first = self.start(*line)
        self.wait_for_step(1, first)
        second = self.start(*line)
        self.wait_until(lambda: self.rows("SELECT state FROM trials") == [("pruned",), ("running",)], second)
        said = self.finish(first)
        self.assertEqual(said.code, 0, said.err)
        self.assertRegex(said.err, r"\[1/2\] lr=1e-5: pruned, .*: asha: 2nd of 2 at step \d+; the best one goes on\n"
                                   r"exprun: 0 of 2 trials finished, 1 stopped early, 1 running elsewhere\n")
        second.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(second).code, 130)
        self.assertEqual(self.rows("SELECT state FROM trials"), [("pruned",), ("interrupted",)])

    def sweep(self, *words):
        """Of three trials, the ending and what `sweep show` says."""
        said = self.exprun("sweep", "tiny.toml", "lr=1e-3,3e-2,1e-1", "steps=20", *words).err
        return said, json.loads(self.exprun("sweep", "show", "--json").out)

    def assert_best(self, said, shown, column, best):
        """`best` picks among the values of a column of the store's series."""
        values = [value for (value,) in self.rows(f"SELECT {column} FROM trials JOIN series USING (run) WHERE name = ? ORDER BY trial",
                                                  shown["metric"])]
        key = shown["metric"].replace("/", "_") + ("_last" if column == "last" else "_best")
        self.assertEqual([trial[key] for trial in shown["trials"]], values)
        number = values.index(best(values))
        self.assertEqual(shown["best_trial"], 1 + number)
        changes = shown["trials"][number]["changes"]
        self.assertIn(f"exprun: best: {changes}, {shown['metric']} ", said)
        self.assertIn(f"\n  exprun tiny.toml {changes} steps=40   trains", said.replace(" goal=maximize", ""))
        table = said[said.index("exprun: the trials that finished, best first:"):].splitlines()[2:5]
        self.assertEqual(float(table[0].split()[0]), float(changes.partition("=")[2]))
        self.assertIn(f"best: {changes}, {shown['metric']} ", self.exprun("sweep", "show").out)

    def test_trials_are_compared_by_their_last_value_where_that_is_asked(self):
        said, shown = self.sweep("metric=train/loss", "--summary", "last")
        self.assertEqual((shown["goal"], shown["summary"]), ("minimize", "last"))
        self.assert_best(said, shown, "last", min)
        self.assertRegex(said, r"\[1/3\] lr=1e-3: finished, last train/loss [\d.]+ at step 20, ")

    def test_the_highest_value_is_the_best_where_that_is_asked(self):
        said, shown = self.sweep("metric=grad_norm", "goal=maximize")
        self.assertEqual((shown["goal"], shown["summary"]), ("maximize", "max"))
        self.assert_best(said, shown, "max", max)

    def test_the_pruned_trials_are_counted(self):
        pathlib.Path(self.folder, "half.toml").write_text(
            'extends = "tiny.toml"\n[sweep.axes]\n"optimizer.lr" = [1e-2, 1e-5]\n[sweep.early_stop]\ntype = "asha"\nreduction = 2\nmin_steps = 40\n')
        self.exprun("sweep", "half.toml", "steps=4000", "evaluation.val_loss.every=20 steps")
        self.assertIn("\nsweep 1 of tiny: finished, 1 of 2 trials finished, 1 stopped early\n", self.exprun("sweep", "show").out)


if __name__ == "__main__":
    unittest.main()
