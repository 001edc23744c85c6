"""exprun report: runs and groups of runs, in every form, at a terminal and into a file."""
import contextlib
import csv
import io
import json
import math
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import unittest

from made_runs import MadeRuns, parameter_rows, run_rows
from support import ExprunTest

EVALUATION = '\n[evaluation.val_loss]\nevery = "1 steps"\n'


NUMPY = """
import json, numpy, sys
for values in json.load(sys.stdin): print(numpy.mean(values), numpy.std(values, ddof=1))
"""


def by_numpy(test, groups):
    """The mean and the standard deviation of each, by a Python that has NumPy: Debian's is the system's own."""
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        done = subprocess.run([python, "-c", NUMPY], input=json.dumps(groups), capture_output=True, text=True)
        if done.returncode == 0:
            return [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    test.skipTest("no NumPy: apt-get install python3-numpy")


class Groups(MadeRuns):
    def test_what_rows_are_sorted_by_is_shown(self):
        self.make_store(*(run_rows(run, f"slow-{run:08x}", parameters={"optimizer.lr": f"{run}e-3", "model.hidden_size": "16"},
                                   series={"val/loss": {300: run}}) for run in (1, 2, 3)))
        for words in (("report", "--sort", "lr", "--top", "1"), ("ls", "--sort", "lr", "--limit", "1")):
            titles, row = self.exprun(*words).out.splitlines()
            self.assertRegex(titles, r"\blr\b")
            self.assertRegex(row, r"\b0\.001\b")
        self.assertIn("hidden_size", self.exprun("report", "--sort", "hidden_size").out)
        self.assertNotIn("lr", self.exprun("ls", "--sort", "lr", "--columns", "run,state").out)

    def test_mean_and_deviation_are_those_of_numpy(self):
        random.seed(24)
        groups = [[random.lognormvariate(0, 6) * random.choice((-1, 1)) for _ in range(random.randint(2, 9))] for _ in range(200)]
        members = [(group, value) for group, values in enumerate(groups) for value in values]
        random.shuffle(members)
        self.make_store(*(run_rows(run, f"slow-{run:08x}", parameters={"optimizer.lr": f"{group + 1}e-3"}, series={"val/loss": {300: value}})
                          for run, (group, value) in enumerate(members, 1)))
        expected = by_numpy(self, groups)
        words = ("report", "--group-by", "lr", "--metric", "val/loss", "--sort", "lr")
        rows = json.loads(self.exprun(*words, "--json").out)
        table = list(csv.DictReader(io.StringIO(self.exprun(*words, "--csv").out)))
        self.assertEqual((len(rows), len(table)), (200, 200))
        for row, written, (mean, deviation), values in zip(rows, table, expected, groups):
            self.assertEqual((float(written["val/loss"]), float(written["val/loss_std"])), (row["val/loss"], row["val/loss_std"]))
            self.assertEqual(row["val/loss_n"], len(values))
            self.assertTrue(math.isclose(row["val/loss"], mean, rel_tol=1e-12, abs_tol=1e-12 * deviation), (row, mean))
            self.assertTrue(math.isclose(row["val/loss_std"], deviation, rel_tol=1e-12), (row, deviation))


class Names(MadeRuns):
    def setUp(self):
        super().setUp()
        self.make_store(*(
            run_rows(run, f"slow-{run:08x}", parameters={"optimizer.lr": lr, "model.num_layers": layers},
                     series={"val/loss": {100: loss, 300: loss + 1}, "train/loss": {300: 2.0}, "eval/quiz/points": {300: float(run)}})
            for run, (lr, layers, loss) in enumerate((("1e-3", "1", 1.5), ("1e-3", "2", 1.25), ("1e-3", "1", 2.5), ("1e-2", "1", 0.5)), 1)))

    def heading(self, *words):
        return re.split("  +", self.exprun(*words).out.partition("\n")[0].strip())

    def test_what_sorts_is_shown(self):
        self.assertIn("lr", self.heading("report", "--sort", "lr", "--top", "3"))
        self.assertNotIn("lr", self.heading("report", "--top", "3", "--where", "lr<1e-2"))
        self.assertIn("lr", self.heading("ls", "--sort", "lr", "--limit", "3"))
        self.assertIn("message", self.heading("ls", "--sort", "message"))
        self.assertEqual(self.heading("ls", "--sort", "step"), self.heading("ls"))
        self.assertEqual(self.heading("ls", "--sort", "lr", "--columns", "run"), ["run"])
        for command, column in (("ls", "lr"), ("report", "num_layers"), ("report", "train/loss")):
            self.assertRegex(self.at_terminal(34, command, "--sort", column, colors=False).partition("\n")[0], rf"  {column}(  |$)")

    def test_a_heading_is_a_name_that_options_take(self):
        self.assertEqual(self.heading("report")[:6], ["run", "best val/loss", "at step", "val/loss", "train/loss", "lr"])
        usual = self.heading("report")
        for column in "val/loss", "val_loss", "val loss", "val_loss_last":
            self.assertEqual(self.heading("report", "--sort", column), usual)
            self.assertEqual(self.heading("report", "--metric", column)[:3], ["run", "val/loss", "lr"])
            self.assertEqual(self.heading("ls", "--sort", column), self.heading("ls") + ["val/loss"])
        for column in "best val/loss", "best val loss", "best_val_loss", "val_loss_best":
            self.assertEqual(json.loads(self.exprun("report", "--metric", column, "--top", "1", "--json").out)[0]["val_loss_best"], 0.5)
            self.assertEqual(json.loads(self.exprun("ls", "--sort", column, "--json").out)[0]["val_loss_best"], 0.5)
        for name in "eval/quiz/points", "eval_quiz_points", "eval quiz points":
            rows = json.loads(self.exprun("report", "--metric", name, "--json").out)
            self.assertEqual([row[name] for row in rows], [1.0, 2.0, 3.0, 4.0])

    def test_groups_by_columns_of_ls(self):
        self.change_store("UPDATE attempt SET state = 'failed' WHERE run = 4")
        by_state = json.loads(self.exprun("report", "--group-by", "state", "--json").out)
        self.assertEqual([(row["state"], row["runs"], row["val_loss_best"]) for row in by_state], [("failed", 1, 0.5), ("finished", 3, 1.75)])
        self.assertEqual(self.heading("report", "--group-by", "lr,state")[:3], ["lr", "state", "runs"])
        self.assertEqual(self.heading("report", "--group-by", "lr")[-1], "state")
        self.assertEqual(self.heading("report", "--group-by", "name,sweep")[:3], ["name", "sweep", "runs"])
        (all_runs,) = json.loads(self.exprun("report", "--group-by", "ema", "--json").out)
        self.assertEqual((all_runs["ema"], all_runs["runs"]), (None, 4))
        self.assertEqual(self.exprun("report", "--group-by", "ema").err, self.exprun("report", "--where", "not has(ema)").err)
        self.assertIn("eval/quiz/points\n    ^^^^^^^^^^^^^^^^ give settings (lr) or columns of ls (state, name, sweep)\n",
                      self.exprun("report", "--group-by", "eval/quiz/points", code=2).err)

    def test_parameters_are_those_that_differ_in_the_rows_that_are_shown(self):
        # The best three have the learning rates 1e-2, 1e-3 and 1e-3; the best two of those below differ in their layers.
        words = ("report", "--where", "lr<1e-2", "--top", "2")
        self.assertIn("num_layers", self.heading(*words))
        for more, lr in (((), False), (("--all-parameters",), True), (("--sort", "lr"), True), (("--columns", "run,lr"), True)):
            plain = self.exprun("report", "--where", "id!=4 or id=4", "--where", "lr<1e-2", "--top", "2", *more).out
            self.assertEqual("lr" in plain.partition("\n")[0].split(), lr, more)
        for form in "--markdown", "--latex":
            self.assertNotRegex(self.exprun("report", "--sort", "val/loss", "--reverse", "--top", "3", form).out, r"\blr\b")
        self.exprun("report", "--reverse", "--top", "3", "--html", "page.html")
        self.assertNotIn('"key":"optimizer.lr"', (self.folder / "page.html").read_text())
        self.assertIn('"key":"model.num_layers"', (self.folder / "page.html").read_text())

    def test_a_program_finds_the_same_columns_however_many_rows_are_shown(self):
        for words in (), ("--sort", "val/loss", "--reverse"), ("--group-by", "lr,num_layers"):
            csv = self.exprun("report", "--csv", *words).out.partition("\n")[0]
            (keys,) = {tuple(row) for row in json.loads(self.exprun("report", "--json", *words).out)}
            self.assertIn("optimizer.lr", keys)
            for top in "1", "2", "3":
                self.assertEqual(self.exprun("report", "--csv", "--top", top, *words).out.partition("\n")[0], csv)
                self.assertEqual({tuple(row) for row in json.loads(self.exprun("report", "--json", "--top", top, *words).out)}, {keys})
        self.assertNotIn("optimizer.lr", self.exprun("report", "--csv", "--where", "lr<1e-2").out)

    def test_a_parameter_that_no_run_of_the_selection_has_changed_is_no_column(self):
        self.change_store(*(row for run in range(1, 5) for row in parameter_rows(run, "model.vocab_size", str(60 + run))),
                          "UPDATE parameter SET changed = 0 WHERE key = (SELECT id FROM parameter_key WHERE path = 'model.vocab_size') "
                          "AND run > 1")
        for words, shown in (((), True), (("--where", "id > 1"), False), (("--where", "id > 1", "--all-parameters"), True)):
            self.assertEqual("vocab_size" in self.heading("report", *words), shown, words)
            self.assertEqual("model.vocab_size" in self.exprun("report", "--csv", *words).out, shown, words)
        self.assertIn("vocab_size=", self.exprun("plot", "slow-00000001", "slow-00000002").out)
        self.assertNotIn("vocab_size=", self.exprun("plot", "slow-00000002", "slow-00000003").out)

    def test_different_data_are_told_of_the_rows_that_are_shown(self):
        self.change_store("UPDATE run SET data_fingerprint = 'other' WHERE id = 3")
        warning = "these runs were trained on 2 different datasets, so their losses may not be comparable"
        for words, warns in (((), True), (("--top", "3"), False), (("--reverse", "--top", "1"), False), (("--reverse", "--top", "2"), True),
                             (("--group-by", "lr"), True), (("--group-by", "lr", "--top", "1"), False)):
            self.assertEqual(self.exprun("report", *words).err, f"exprun: warning: {warning}\n" * warns, words)
        for words, count, warns in (((), 4, True), (("--top", "3"), 3, False), (("--top", "1"), "one", False)):
            said = f"exprun: wrote page.html: {count} run{'s' * (count != 'one')}\n" + f"exprun: warning: {warning}\n" * warns
            self.assertEqual(self.exprun("report", "--html", "page.html", *words).err, said)
            self.assertIn(f'"of_data":"{warning * warns}"', (self.folder / "page.html").read_text())

    def test_a_long_list_is_cut_where_people_read_and_nobody_named_it(self):
        patterns = "[" + ", ".join(f'"layers.{layer}.*"' for layer in range(40)) + "]"
        for run in (1, 2):
            self.change_store(*parameter_rows(run, "optimizer.groups.a.match", patterns[:-1] + f', "{run}"]'))
        self.assertLess(max(map(len, self.exprun("report").out.splitlines())), 200)
        self.assertIn("…", self.exprun("report").out)
        self.assertIn("…", self.exprun("report", "--over-seeds").out)
        for words in ("--csv",), ("--json",), ("--markdown",), ("--columns", "run,optimizer.groups.a.match"), \
                ("--group-by", "optimizer.groups.a.match"):
            self.assertIn("layers.39.*", self.exprun("report", *words).out, words)

    def test_an_extreme_is_infinite_where_a_value_is(self):
        for run, worst in ((1, math.inf), (2, -math.inf), (3, None)):
            self.set_series(run, "val/loss", {100: 2.0, 200: worst, 300: 1.0})
        rows = json.loads(self.exprun("report", "--metric", "val/loss:max", "--metric", "val/loss:min", "--sort", "id", "--json").out)
        self.assertEqual([(row["val/loss:max"], row["val/loss:min"]) for row in rows], [("inf", 1.0), (2.0, "-inf"), (2.0, 1.0), (1.5, 0.5)])
        self.assertEqual(self.exprun("ls", "--where", "max(val/loss) > 1e9", "--columns", "id", "--csv").out, "id\n1\n")
        self.assertEqual(json.loads(self.exprun("ls", "--json", "--columns", "id,best val/loss", "--where", "id=1").out)[0]["val_loss_best"], 1.0)
        for worst, named, found in ((math.inf, "inf", "min(val/loss) > 1"), (-math.inf, "-inf", "max(val/loss) < -1")):
            self.set_series(1, "val/loss", {100: worst, 200: None, 300: worst})
            rows = json.loads(self.exprun("report", "--metric", "val/loss:max", "--metric", "val/loss:min", "--sort", "id", "--json").out)
            self.assertEqual((rows[0]["val/loss:max"], rows[0]["val/loss:min"]), (named, named))
            self.assertEqual(self.exprun("ls", "--where", f"id=1 and {found}", "--columns", "id", "--csv").out, "id\n1\n")
        self.set_series(1, "val/loss", {100: None})
        self.assertEqual(self.exprun("ls", "--where", "id=1 and min(val/loss) > -1e9", "--columns", "id", "--csv").out, "id\n")

    def test_an_unknown_name_is_answered_with_those_there_are(self):
        self.assertEqual(self.exprun("report", "--metric", "accuracy", code=2).err,
                         "--metric:1:1: error: no run has a series 'accuracy'\n    accuracy\n    ^^^^^^^^ "
                         "there are train/loss, val/loss and eval/quiz/points\n")


class Report(ExprunTest):
    def setUp(self):
        super().setUp()
        self.write("tiny.toml", (self.folder / "tiny.toml").read_text() + EVALUATION)

    def test_an_evaluation_with_defaults_alone_tells_two_runs_apart(self):
        self.exprun("tiny.toml", "steps=2")
        self.exprun("tiny.toml", "steps=2", "evaluation.sample.type=sample")
        rows = json.loads(self.exprun("report", "--sort", "id", "--json").out)
        self.assertEqual([row["evaluation.sample.type"] for row in rows], [None, "sample"])
        self.exprun("tiny.toml", "steps=2", "evaluation.sample.every='1 steps'")
        rows = json.loads(self.exprun("report", "--sort", "id", "--where", "id!=2", "--json").out)
        self.assertEqual([row["evaluation.sample.every"] for row in rows], [None, "1 step"])
        self.assertNotIn("evaluation.sample.type", rows[0])

    def test_losses_of_different_data_are_not_said_to_compare(self):
        self.write("other.txt", "Another text, whose characters are others. " * 20)
        self.exprun("tiny.toml", "steps=2")
        self.assertEqual(self.exprun("report").err, "")
        self.exprun("tiny.toml", "steps=2", "dataset.path=other.txt")
        self.assertEqual(self.exprun("report").err, "exprun: warning: these runs were trained on 2 different datasets, so their "
                                                    "losses may not be comparable\n")
        self.assertEqual(self.exprun("report", "--csv").err, "")
        whole = ("steps=2", "+evaluation.whole={type='perplexity',path='text.txt'}", "run.best_metric=whole/bits_per_byte")
        for tokenizer in "char", "byte":
            self.exprun("tiny.toml", *whole, f"tokenizer={tokenizer}")
        for metric, warns in ("whole/bits_per_byte", False), ("whole/loss", True), ("whole/bits_per_byte,val/loss", True):
            said = self.exprun("report", "--where", "has(whole/bits_per_byte)", "--metric", metric).err
            self.assertEqual("2 different datasets" in said, warns, metric)

    def test_a_sweep_over_seeds_is_a_row_for_each_setting(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,1e-2", "seed=range(1,4)", "steps=6")
        each = list(csv.DictReader(io.StringIO(self.exprun("report", "--sweep", "1", "--each-run", "--csv").out)))
        self.assertEqual(len(each), 6)
        groups = json.loads(self.exprun("report", "--sweep", "tiny", "--json").out)
        self.assertEqual(groups, json.loads(self.exprun("report", "--over-seeds", "--json").out))
        self.assertEqual(groups, json.loads(self.exprun("report", "--group-by", "optimizer.lr", "--json").out))
        self.assertEqual([group["optimizer.lr"] for group in groups], [0.01, 0.001])
        for group in groups:
            self.assertEqual((group["runs"], group["state"]), (3, "finished"))
            for metric in ("val_loss_best", "train_loss_last"):
                values = [float(row[metric]) for row in each if float(row["optimizer.lr"]) == group["optimizer.lr"]]
                mean, deviation = statistics.fmean(values), statistics.stdev(values)
                self.assertTrue(math.isclose(group[metric], mean, rel_tol=1e-12), (group, values))
                self.assertTrue(math.isclose(group[metric + "_std"], deviation, rel_tol=1e-9), (group, values))
                self.assertEqual(group[metric + "_n"], 3)
        self.assertRegex(self.exprun("report", "--sweep", "1").out, r"\A *lr  runs +best val/loss .*\n *0\.01 +3 +\d\.\d+ ± 0\.\d+ \(3\) ")

    def test_runs_that_repeat_a_seed_are_one_of_the_seeds(self):
        for words in ("seed=1",), ("seed=2",), ("seed=1", "--new"), ("seed=1", "name=copy"):
            self.exprun("tiny.toml", "steps=4", *words)
        words = ("report", "--over-seeds", "--where", "steps=4 and seed in [1, 2]")
        (group,) = json.loads(self.exprun(*words, "--json").out)
        self.assertEqual((group["runs"], group["val_loss_best_n"]), (2, 2))
        ((mean,),) = self.rows("SELECT avg(min) FROM series JOIN runs USING (run) WHERE series.name = 'val/loss' AND "
                               "run IN (SELECT max(run) FROM runs WHERE steps = 4 GROUP BY seed HAVING seed IN (1, 2))")
        self.assertAlmostEqual(group["val_loss_best"], mean)
        left_out = ("exprun: left out 2 runs that repeat the recipe and seed of another on the same data: the newest finished one "
                    "counts\n")
        self.assertEqual([self.exprun(*words, *form).err for form in ((), ("--json",))], [left_out] * 2)
        self.assertIn("left out one run that repeats the recipe and seed of another ",
                      self.exprun(*words, "--where", "name!=copy").err)
        (by_steps,) = json.loads(self.exprun("report", "--group-by", "steps", *words[2:], "--json").out)
        self.assertEqual((by_steps["runs"], by_steps["val_loss_best_n"], by_steps["val_loss_best"]), (2, 2, group["val_loss_best"]))
        self.exprun("eval", "1", "--as", "whole")
        (group,) = json.loads(self.exprun(*words, "--metric", "eval/whole/val/loss", "--json").out)
        self.assertEqual(group["eval/whole/val/loss_n"], 1)

    def test_a_point_with_a_missing_seed_stands_last_in_every_table_of_a_sweep(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,1e-2", "seed=1,2", "steps=6")
        ((missing,),) = self.rows("SELECT folder FROM runs WHERE run IN (SELECT run FROM parameters WHERE path = 'optimizer.lr' AND value = 0.01) "
                                  "AND seed = 2")
        words = ("report", "--sweep", "1", "--json")
        better = [0.01, 0.001]
        self.assertEqual([row["optimizer.lr"] for row in json.loads(self.exprun(*words).out)], better)
        self.exprun("rm", missing)
        self.assertEqual([row["optimizer.lr"] for row in json.loads(self.exprun(*words).out)], better[::-1])
        self.assertEqual([point["changes"] for point in json.loads(self.exprun("sweep", "show", "--json").out)["seeds"]], ["lr=1e-3", "lr=1e-2"])

    def test_a_short_key_is_one_of_the_runs_that_are_compared(self):
        for words in ("name=plain",), ("name=adapted", "model.lora.rank=2"):
            self.exprun("tiny.toml", "steps=1", *words)
        self.assertIn("plain-", self.exprun("report", "plain", "--sort", "dropout", "--where", "dropout=0").out)
        self.assertIn("'dropout' names several settings\n    dropout\n    ^^^^^^^ write model.dropout or model.lora.dropout\n",
                      self.exprun("report", "--sort", "dropout", code=2).err)

    def test_metrics_order_columns_and_rows(self):
        for seed in (1, 2):
            self.exprun("tiny.toml", f"seed={seed}", "steps=4")
        words = ("report", "--metric", "val/loss:at(2)", "--metric", "train/loss:max", "--json")
        rows = json.loads(self.exprun(*words).out)
        self.assertLess(rows[0]["val/loss:at(2)"], rows[1]["val/loss:at(2)"])
        for row in rows:
            self.assertEqual(self.rows("SELECT m.value, s.max FROM metrics m JOIN runs r USING (run) JOIN series s ON s.run = m.run "
                                       "AND s.name = 'train/loss' WHERE r.folder = ? AND m.name = 'val/loss' AND m.step = 2", row["run"]),
                             [(row["val/loss:at(2)"], row["train/loss:max"])])
        self.assertEqual(json.loads(self.exprun(*words, "--reverse").out), rows[::-1])
        self.assertEqual(json.loads(self.exprun(*words, "--top", "1").out), rows[:1])
        seeds = json.loads(self.exprun("report", "--sort", "seed", "--columns", "seed,run,hidden_size,train/loss:max", "--json").out)
        self.assertEqual([row["run.seed"] for row in seeds], [1, 2])
        self.assertEqual([row["train/loss:max"] for row in seeds],
                         [row["train/loss:max"] for row in sorted(rows, key=lambda row: row["run.seed"])])
        self.assertEqual(self.exprun(*words[:-1], "--columns", "seed,train/loss:max", "--csv").out.partition("\n")[0],
                         "run,run.seed,train/loss:max,val/loss:at(2)")
        self.assertEqual(self.exprun(*words[:3], "--columns", "seed", "--sort", "train/loss", "--csv").out.partition("\n")[0],
                         "run,run.seed,val/loss:at(2)")
        everything = json.loads(self.exprun("report", "--all-parameters", "--json").out)[0]
        self.assertIn("model.type", everything)
        self.assertNotIn("model.type", rows[0])

    def test_the_first_questions_take_one_command_each(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,1e-2", "seed=1,2", "steps=6", "max_grad_norm=1.0")
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as store, store:
            store.execute("UPDATE series SET name = 'hellaswag/acc' WHERE name = 'grad_norm'")
        # Which run was best by accuracy?
        (best,) = json.loads(self.exprun("report", "--metric", "hellaswag/acc", "--top", "1", "--json").out)
        ((highest,),) = self.rows("SELECT max(last) FROM series WHERE name = 'hellaswag/acc'")
        self.assertEqual(best["hellaswag/acc"], highest)
        # Did the seed matter?
        self.assertEqual(len(re.findall(r"± \S+ \(2\)", self.exprun("report", "--over-seeds", "--columns", "lr,val loss").out)), 2)
        # What differs between these two, and where did they part?
        compared = self.exprun("compare", "1", "3").out
        self.assertRegex(compared, r"\noptimizer\.lr +0\.001 \(override\) +0\.01 \(override\)")
        self.assertRegex(compared, r"\ntrain/loss +tiny-\w{8} +6 +[12] ")
        # How does it look now?
        self.assertRegex(self.exprun("watch", "--once").out, r"\Asweep 1 of tiny: finished\n100% .* 4 of 4 finished\nbest: ")

    def test_runs_compare_by_the_metric_of_their_sweep(self):
        self.write("sweep.toml", (self.folder / "tiny.toml").read_text() + '[sweep]\nmetric = "train/loss"\ngoal = "maximize"\n'
                   '[sweep.axes]\n"optimizer.lr" = [1e-3, 1e-2]\n')
        self.exprun("sweep", "sweep.toml", "steps=6")
        shown = json.loads(self.exprun("sweep", "show", "--json").out)
        best = next(trial["run"] for trial in shown["trials"] if trial["trial"] == shown["best_trial"])
        rows = json.loads(self.exprun("report", "--sweep", "1", "--json").out)
        ((highest,),) = self.rows("SELECT max(max) FROM series WHERE name = 'train/loss'")
        self.assertEqual((rows[0]["run"], rows[0]["train_loss_best"]), (best, highest))
        self.assertRegex(self.exprun("report", "--sweep", "1").out, r"\Arun +best train/loss +at step +train/loss +val/loss +lr ")
        self.exprun("report", "--sweep", "1", "--html", "page.html")
        self.assertIn('"goal":"highest","key":"train_loss_best","right":true,"role":"metric"', (self.folder / "page.html").read_text())

    def test_runs_compare_by_the_metric_of_their_recipes(self):
        for lr in ("1e-3", "1e-2"):
            self.exprun("tiny.toml", f"lr={lr}", "steps=6", "run.best_goal='maximize'")
        losses = [row["val_loss_best"] for row in json.loads(self.exprun("report", "--json").out)]
        self.assertEqual(losses, [value for value, in self.rows("SELECT max FROM series WHERE name = 'val/loss' ORDER BY max DESC")])
        compared = {row["name"]: row for row in json.loads(self.exprun("compare", "1", "2", "--json").out)["results"]}
        self.assertIn(losses[0], compared["best val/loss"].values())
        self.assertRegex(self.exprun("watch", "--once").out, rf"val/loss [\d.]+ \(best {losses[0]:.4g}|val/loss [\d.]+ \(best {losses[1]:.4g}")
        # Where they disagree, the lowest val/loss is the best.
        self.exprun("tiny.toml", "steps=6")
        losses = [row["val_loss_best"] for row in json.loads(self.exprun("report", "--json").out)]
        self.assertEqual(losses, sorted(losses))

    def rows_of(self, *words):
        return json.loads(self.exprun("report", "--json", *words).out)

    def test_a_series_sorts_by_its_own_goal(self):
        for lr in ("1e-3", "1e-2", "3e-2"):
            self.exprun("tiny.toml", f"lr={lr}", "steps=6", "run.best_metric='val/loss'", "run.best_goal='maximize'")
        def top(*words):
            return [row["val/loss"] for row in self.rows_of("--top", "3", "--metric", "train/loss", *words)]
        highest = top("--sort", "val/loss", "--columns", "val/loss")
        self.assertEqual(highest, sorted(highest, reverse=True))
        self.assertEqual(top("--sort", "val/loss", "--reverse", "--columns", "val/loss"), highest[::-1])
        self.assertEqual([row["train_loss_last"] for row in self.rows_of("--sort", "train/loss", "--columns", "train/loss")],
                         sorted(row["train_loss_last"] for row in self.rows_of("--columns", "train/loss")))

    def test_without_the_usual_losses_the_first_metric_with_a_value_orders(self):
        self.write("tiny.toml", (self.folder / "tiny.toml").read_text().replace(EVALUATION, ""))
        for lr in ("1e-3", "1e-2"):
            self.exprun("tiny.toml", f"lr={lr}", "steps=6")
        self.change_store("DELETE FROM series WHERE name = 'val/loss'")
        self.assertRegex(self.exprun("report").out, r"\Arun +train/loss +lr ")
        losses = [row["train_loss_last"] for row in json.loads(self.exprun("report", "--json").out)]
        self.assertEqual(losses, sorted(losses))
        self.change_store("DELETE FROM series")
        self.assertRegex(self.exprun("report").out, r"\Arun +lr +step +state")

    def test_results_of_eval_are_metrics(self):
        for seed in (1, 2):
            self.exprun("tiny.toml", f"seed={seed}", "steps=4")
            self.exprun("eval", "@last")
        ((name,),) = self.rows("SELECT DISTINCT name FROM series WHERE name LIKE 'eval/%loss'")
        rows = json.loads(self.exprun("report", "--metric", name, "--json").out)
        self.assertEqual([row[name] for row in rows],
                         [value for value, in self.rows("SELECT value FROM metrics WHERE name = ? ORDER BY value", name)])
        self.assertEqual(len(rows), 2)
        self.assertIn("**", self.exprun("report", "--metric", name, "--markdown").out)

    def test_a_terminal_has_what_fits_and_a_curve(self):
        for seed in (1, 2):
            self.exprun("tiny.toml", f"seed={seed}", "steps=4")
        wide, narrow = self.at_terminal(200, "report"), self.at_terminal(80, "report")
        self.assertRegex(wide, r"\Arun .* state +time  val/loss curve\n.* [▁▂▃▄▅▆▇█]{5}\n.* [▁▂▃▄▅▆▇█]{5}\n\Z")
        self.assertEqual(wide.count("\033[1;32m"), 3)
        table, _, said = narrow.partition("exprun: ")
        self.assertIn("  state", table)
        self.assertRegex(said, r"\Aleft out, the terminal is too narrow: at step \(--csv and --json have\s+them\)\n\Z")
        self.assertNotIn("\033", self.exprun("report").out)
        self.assertRegex(self.exprun("report", "--sparkline", "--markdown").out, r" [▁▂▃▄▅▆▇█]{5} \|\n\Z")

    def test_what_a_column_can_be_is_listed(self):
        self.exprun("tiny.toml", "steps=1", "run.deterministic=true")
        rows = json.loads(self.exprun("report", "--columns", "help", "--json").out)
        kinds = {row["name"]: row["meaning"] for row in rows}
        self.assertEqual((kinds["val/loss"], kinds["optimizer.lr"]), ("a series", "a setting"))
        self.assertIn("seconds", kinds)
        self.assertEqual(json.loads(self.exprun("report", "--columns", "run.deterministic", "--json").out),
                         [{"run": self.run_folder().name, "run.deterministic": True}])

    def test_an_empty_store_and_mistakes(self):
        self.exprun("tiny.toml", "steps=1")
        self.exprun("rm", "@last")
        for form, nothing in (("--json", "[]\n"), ("--csv", "run,")):
            self.assertTrue(self.exprun("report", form).out.startswith(nothing))
        self.assertEqual(self.exprun("report").err, "exprun: no runs; exprun ls --removed lists one removed run\n")
        self.assertEqual(self.exprun("report", "--sweep", "1", code=4).err,
                         f"exprun: error: store: no sweep '1' in '{self.folder}/runs/exprun.db'; it has no sweeps yet\n")
        self.assertEqual(self.exprun("report", "--metric", "val/los", code=2).err,
                         "--metric:1:1: error: no run has a series 'val/los'\n    val/los\n    ^^^^^^^ did you mean 'val/loss'?\n")
        self.assertEqual(self.exprun("report", "--group-by", "lr,sede", code=2).err,
                         "--group-by:1:4: error: no run has a setting 'sede'\n    lr,sede\n       ^^^^ did you mean 'seed'?\n")
        self.assertEqual(self.exprun("report", "--over-seeds", "--sort", "tmie", code=2).err,
                         "--sort:1:1: error: groups have no column 'tmie'\n    tmie\n    ^^^^ there are runs, best val/loss, "
                         "val/loss, train/loss and state\n")
        self.assertEqual(self.exprun("report", "tiny", "--sweep", "1", code=2).err,
                         "exprun: error: command line: give either names of runs or --sweep, not both\n")


if __name__ == "__main__":
    unittest.main()
