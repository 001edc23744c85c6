"""exprun report: runs and groups of runs, in every form, at a terminal and into a file."""
import contextlib
import csv
import fcntl
import io
import json
import math
import os
import pty
import re
import sqlite3
import statistics
import struct
import termios
import unittest

from support import BUILD, ExprunTest

EVALUATION = '\n[evaluation.val_loss]\nevery = "1 steps"\n'


def mean_and_deviation(values):
    """By NumPy where it is installed."""
    try:
        import numpy
    except ImportError:
        return statistics.fmean(values), statistics.stdev(values)
    return float(numpy.mean(values)), float(numpy.std(values, ddof=1))


class Report(ExprunTest):
    def setUp(self):
        super().setUp()
        self.write("tiny.toml", (self.folder / "tiny.toml").read_text() + EVALUATION)

    def at_terminal(self, columns, *words):
        """What a terminal of this width is given."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        pid = os.fork()
        if pid == 0:
            os.close(leader)
            for descriptor in (0, 1, 2):
                os.dup2(follower, descriptor)
            os.chdir(self.folder)
            os.execve(BUILD / "exprun", ["exprun", *words], {"TERM": "xterm"})
        os.close(follower)
        shown = b""
        with contextlib.suppress(OSError):  # Linux's answer where the other end is closed
            while part := os.read(leader, 65536):
                shown += part
        os.close(leader)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        return shown.decode().replace("\r\n", "\n")

    def test_losses_of_different_data_are_not_said_to_compare(self):
        self.write("other.txt", "Another text, whose characters are others. " * 20)
        self.exprun("tiny.toml", "steps=2")
        self.assertEqual(self.exprun("report").err, "")
        self.exprun("tiny.toml", "steps=2", "dataset.path=other.txt")
        self.assertEqual(self.exprun("report").err, "exprun: warning: these runs were trained on 2 different data sets, so their "
                                                    "losses may not be comparable\n")
        self.assertEqual(self.exprun("report", "--csv").err, "")

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
                mean, deviation = mean_and_deviation(values)
                self.assertTrue(math.isclose(group[metric], mean, rel_tol=1e-12), (group, values))
                self.assertTrue(math.isclose(group[metric + "_std"], deviation, rel_tol=1e-9), (group, values))
                self.assertEqual(group[metric + "_n"], 3)
        self.assertRegex(self.exprun("report", "--sweep", "1").out, r"\A *lr  runs +best val loss .*\n *0\.01 +3 +\d\.\d+ ± 0\.\d+ \(3\) ")

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

    def test_a_terminal_has_what_fits_and_a_curve(self):
        for seed in (1, 2):
            self.exprun("tiny.toml", f"seed={seed}", "steps=4")
        wide, narrow = self.at_terminal(200, "report"), self.at_terminal(80, "report")
        self.assertRegex(wide, r"\Arun .* state +time  val/loss\n.* [▁▂▃▄▅▆▇█]{5}\n.* [▁▂▃▄▅▆▇█]{5}\n\Z")
        self.assertEqual(wide.count("\033[1;32m"), 3)
        table, _, said = narrow.partition("exprun: ")
        self.assertIn("  state", table)
        self.assertRegex(said, r"\Aleft out, the terminal is too narrow: val loss \(--csv and --json have\s+them\)\n\Z")
        self.assertNotIn("\033", self.exprun("report").out)
        self.assertRegex(self.exprun("report", "--sparkline", "--markdown").out, r" [▁▂▃▄▅▆▇█]{5} \|\n\Z")

    def test_an_empty_store_and_mistakes(self):
        self.exprun("tiny.toml", "steps=1")
        self.exprun("rm", "@last")
        for form, nothing in (("--json", "[]\n"), ("--csv", "run,")):
            self.assertTrue(self.exprun("report", form).out.startswith(nothing))
        self.assertEqual(self.exprun("report").err, "exprun: no runs yet\n")
        self.assertEqual(self.exprun("report", "--sweep", "1", code=4).err,
                         f"exprun: error: store: no sweep '1' in '{self.folder}/runs/exprun.db'; it has no sweeps yet\n")
        self.assertEqual(self.exprun("report", "--metric", "val/los", code=2).err,
                         "--metric:1:1: error: no run has a series 'val/los'\n    val/los\n    ^^^^^^^ did you mean 'val/loss'?\n")
        self.assertEqual(self.exprun("report", "--group-by", "lr,sede", code=2).err,
                         "--group-by:1:4: error: no run has a parameter 'sede'\n    lr,sede\n       ^^^^ did you mean 'seed'?\n")
        self.assertEqual(self.exprun("report", "--over-seeds", "--sort", "tmie", code=2).err,
                         "--sort:1:1: error: groups have no column 'tmie'\n    tmie\n    ^^^^ there are runs, best val loss, "
                         "val loss, train loss and state\n")
        self.assertEqual(self.exprun("report", "tiny", "--sweep", "1", code=2).err,
                         "exprun: error: command line: give names of runs or --sweep\n")


if __name__ == "__main__":
    unittest.main()
