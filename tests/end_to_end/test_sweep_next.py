"""The command that a sweep prints at its end: it trains the best point again, for twice as long."""
import json
import re
import shlex
import unittest

from support import ExprunTest


class SweepNext(ExprunTest):
    def run_what_is_printed(self, *line):
        """Its words, once it has run to its end."""
        said = self.exprun("sweep", *line).err
        (command,) = re.findall(r"exprun: next:\n  exprun (.*?)   trains the best point again, for twice as long\n", said)
        self.exprun(*shlex.split(command))
        ((best,), (longer,)) = self.rows("SELECT last_step FROM runs WHERE run = (SELECT max(run) FROM trials) "
                                         "UNION ALL SELECT last_step FROM runs WHERE run = (SELECT max(run) FROM runs) AND sweep IS NULL")
        self.assertEqual(self.state(), "finished")
        self.assertLessEqual(abs(longer - 2 * best), 1)  # an epoch may end within a step
        return command

    def test_of_a_recipe(self):
        command = self.run_what_is_printed("tiny.toml", "lr=1e-2,1e-3", "steps=4")
        self.assertRegex(command, r"^tiny.toml lr=1e-\d steps=8$")

    def test_of_a_recipe_with_a_sweep(self):
        self.write("swept.toml", 'extends = "tiny.toml"\n[sweep]\nmetric = "train/loss"\n[sweep.axes]\nlr = [1e-2, 1e-3]\n')
        command = self.run_what_is_printed("swept.toml", "steps=4")
        self.assertRegex(command, r"^swept.toml '~sweep' lr=0.\d+ steps=8$")

    def test_where_the_length_is_a_period(self):
        command = self.run_what_is_printed("tiny.toml", "lr=1e-2,1e-3", "length='256 tokens'")
        self.assertRegex(command, r"^tiny.toml lr=1e-\d run.length='512 tokens'$")
        self.write("text.txt", "A short text, of which an epoch takes few steps. " * 40)
        self.write("epochs.toml", 'extends = "tiny.toml"\n[run]\nlength = "1 epoch"\n')
        command = self.run_what_is_printed("epochs.toml", "lr=1e-2,1e-3")
        self.assertRegex(command, r"^epochs.toml lr=1e-\d run.length='2 epochs'$")

    def test_where_no_trial_has_the_metric(self):
        line = ("tiny.toml", "lr=1e-2,1e-3", "steps=4", "validation_fraction=0", "~evaluation.val_loss")
        said = self.exprun("sweep", *line).err
        self.assertIn("exprun: no trial that finished has a value of val/loss to be ranked by; the same command with metric=train/loss "
                      "ranks them by that, without training them again\n", said)
        command = self.run_what_is_printed(*line, "metric=train/loss")
        self.assertIn(" steps=8", command)
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(3,)])

    def test_of_an_accuracy_the_largest_is_the_best(self):
        self.write("quiz.jsonl", '{"ctx": "the sea", "endings": [" a", " b", " c", " d"], "label": 1}\n' * 3)
        line = ("tiny.toml", "lr=1e-2,1e-3", "steps=4", "tokenizer=byte", "evaluation.hellaswag.path=quiz.jsonl", "metric=hellaswag/acc")
        self.exprun("sweep", *line)
        self.assertEqual(json.loads(self.exprun("sweep", "show", "--json").out)["goal"], "maximize")
        self.exprun("tiny.toml", "steps=2", "tokenizer=byte", "evaluation.hellaswag.path=quiz.jsonl", "run.best_metric=hellaswag/acc")
        self.assertIn('best_goal = "auto"  # derived: "maximize"', self.exprun("show", "@last").out)

    def test_a_metric_that_nothing_records_is_refused_whatever_changes(self):
        for changes in ("evaluation.val_loss.every=2 steps",), ("validation_fraction=0.1,0.2",), ():
            said = self.exprun("sweep", "tiny.toml", "lr=1e-2,1e-3", "steps=4", *changes, "metric=val/los", code=2).err
            self.assertIn("no trial records 'val/los'", said)
            self.assertIn("did you mean 'val/loss'?", said)

    def test_of_the_newest_run(self):
        self.exprun("tiny.toml", "steps=4", "weight_decay=0.2")
        command = self.run_what_is_printed("lr=1e-3,2e-3")
        self.assertRegex(command, r"^rerun tiny-\w{8} steps=8$")
        self.assertEqual(self.rows("SELECT toml FROM parameters WHERE path = 'optimizer.weight_decay' AND run = (SELECT max(run) FROM runs)"),
                         [("0.2",)])
        self.assertEqual(self.rows("SELECT state FROM trials"), [("finished",)] * 2)


if __name__ == "__main__":
    unittest.main()
