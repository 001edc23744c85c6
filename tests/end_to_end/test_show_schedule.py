"""`exprun show --schedule` prints and plots the learning rates of every group."""
import json
import unittest

from support import ExprunTest

GROUPS = """
[optimizer.groups.matrices]
match = ["blocks.*.weight"]
type = "sgd"
lr = 0.5
"""


class ShowSchedule(ExprunTest):
    def test_rates_of_every_group_and_a_plot(self):
        self.write("tiny.toml", (self.folder / "tiny.toml").read_text().replace('type = "constant"', 'type = "linear"') + GROUPS)
        lines = self.exprun("show", "tiny.toml", "--schedule", "run.steps=5").out.splitlines()
        self.assertEqual(lines[:8], [
            "schedule linear, 5 updates",
            "",
            "update  factor  lr default  lr matrices",
            "     1   1.000     0.01000       0.5000",
            "     2  0.8000    0.008000       0.4000",
            "     3  0.6000    0.006000       0.3000",
            "     4  0.4000    0.004000       0.2000",
            "     5  0.2000    0.002000       0.1000",
        ])
        # The plot is that of `exprun plot`.
        plot = lines[9:]
        self.assertEqual(plot[0], "factor by update")
        self.assertTrue(plot[1].startswith("1.0 ┤⠉"), plot[1])
        self.assertRegex(plot[-3], r"^    └[┬─]{75}$")
        self.assertEqual(plot[-2].split(), ["1", "2", "3", "4", "5"])
        self.assertEqual(plot[-1], "━━ linear")
        self.assertEqual(len(plot), 1 + 12 + 2 + 1)

    def test_as_json(self):
        shown = json.loads(self.exprun("show", "tiny.toml", "--schedule", "run.steps=4", "schedule.type=linear", "--json").out)
        self.assertEqual(shown, {"type": "linear", "steps": 4, "peaks": {"default": 0.01}, "factors": [
            {"update": 1, "factor": 1.0}, {"update": 2, "factor": 0.75}, {"update": 3, "factor": 0.5},
            {"update": 4, "factor": 0.25}]})

    def test_a_length_in_epochs_needs_the_data(self):
        words = ("tiny.toml", "~steps", "run.length='2 epochs'", "dataset.order=sequential")
        large = ("dataset.path=large.txt", "--schedule")  # too large to be tokenized for a look
        self.write("large.txt", (self.folder / "text.txt").read_text() * 200)
        self.assertEqual(self.exprun("show", *words, *large, code=2).err, """\
<override 2>:1:12: error: the number of steps is unknown until the data is prepared
    run.length='2 epochs'
               ^^^^^^^^^^ run the recipe, or prepare its data with exprun data prepare tiny.toml
""")
        self.assertIn("schedule constant, 636 updates", self.exprun("show", *words, "--schedule").out)
        self.exprun("data", "prepare", *words)
        self.assertIn("schedule constant, 636 updates", self.exprun("show", *words, "--schedule").out)
        self.exprun("tiny.toml", "steps=2")
        self.assertIn("schedule constant, 2 updates", self.exprun("show", "@last", "--schedule").out)

    def test_data_are_looked_at_only_for_epochs(self):
        (self.folder / "text.txt").unlink()
        self.assertIn("schedule constant, 5 updates", self.exprun("show", "tiny.toml", "--schedule", "run.steps=5").out)
        for words in (("~steps", "run.length='2 epochs'"), ("schedule.warmup='1 epoch'",)):
            missing = self.exprun("show", "tiny.toml", "--schedule", *words, code=2).err
            self.assertIn("tiny.toml:16:8: error: 'text.txt' does not exist\n", missing)
            self.assertNotIn("how many steps", missing)

    def test_a_mistake_is_told_as_by_check(self):
        result = self.exprun("show", "tiny.toml", "--schedule", "schedule.type=cosin", code=2)
        self.assertIn('did you mean "cosine"?', result.err)


if __name__ == "__main__":
    unittest.main()
