"""`exprun watch`: what it shows of runs and sweeps, in a terminal and as text."""
import os
import re
import signal
import unittest

from made_runs import MadeRuns
from support import TIMEOUT
from terminals import Terminal

LONG = ("steps=1000000", "evaluation.val_loss.every='100 steps'", "evaluation.val_loss.tokens=64")


class Watch(MadeRuns):
    def test_once_of_a_finished_run(self):
        self.exprun("tiny.toml", "evaluation.val_loss.every='10 steps'", "evaluation.val_loss.tokens=64")
        lines = self.exprun("watch", "--once").out.splitlines()
        self.assertRegex(lines[0], r"^tiny-\w{8}: finished")
        self.assertRegex(lines[1], r"^100% \[=+\]  step 40/40  ")
        self.assertRegex(lines[2], r"^train/loss [\d.]+  val/loss [\d.]+ \(best [\d.]+ at step \d+\)  lr 0.01  (grad_norm [\d.]+  )?[\d,]+ tokens/s$")
        self.assertIn("train/loss, val/loss by step", lines)
        (log_file,) = self.run_folder().glob("logs/*")
        with log_file.open("a") as file:
            file.write(f"a line of {200 * 'x'} letters\n")
        lines = self.exprun("watch", "--once").out.splitlines()
        log = self.exprun("logs", "tiny").out.splitlines()
        self.assertEqual(lines[-1], log[-1])
        self.assertGreater(len(lines[-1]), 200)
        self.change_store("UPDATE attempt SET message = 'a long reason, ' || hex(zeroblob(100))")
        self.assertTrue(self.exprun("watch", "--once").out.splitlines()[0].endswith(100 * "00"))  # a pipe has any width

    def test_live_until_q(self):
        self.exprun("tiny.toml", *LONG, "--detach")
        terminal = Terminal(self, "watch")
        terminal.wait_for(r"tiny-\w{8}: running")
        terminal.wait_for(r"ETA \d")
        terminal.wait_for("train/loss, val/loss by step")
        first = re.search(r"step (\d+)/1000000", "\n".join(terminal.shown()))[1]
        terminal.wait_for(rf"step (?!{first}/)\d+/1000000")
        self.assertEqual(len(terminal.shown()), 30)
        self.assertEqual(terminal.shown()[-1], "q: quit")
        os.write(terminal.terminal, b"xq")
        self.assertEqual(terminal.ended(), 0)
        self.assertIn("running", self.exprun("ls").out)

    def test_follows_the_size_and_draws_only_what_is_new(self):
        self.exprun("tiny.toml")
        terminal = Terminal(self, "watch")
        terminal.wait_for("q: quit")
        terminal.read(0.1)
        self.assertEqual(terminal.read(2.5), b"")  # two more looks, and nothing new
        terminal.size(60, 15)
        terminal.process.send_signal(signal.SIGWINCH)
        terminal.read(1)
        lines = terminal.shown()
        self.assertEqual((len(lines), lines[-1]), (15, "q: quit"))
        self.assertLessEqual(max(map(len, lines)), 60, lines)
        terminal.size(20, 3)
        terminal.process.send_signal(signal.SIGWINCH)
        terminal.read(1)
        self.assertEqual(len(terminal.shown()), 3)
        self.assertLessEqual(max(map(len, terminal.shown())), 20, terminal.shown())
        os.write(terminal.terminal, b"\x03")
        self.assertEqual(terminal.ended(), 0)

    def test_signals_give_the_terminal_back(self):
        self.exprun("tiny.toml")
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            terminal = Terminal(self, "watch", "tiny")
            terminal.wait_for("q: quit")
            terminal.process.send_signal(number)
            self.assertEqual(terminal.ended(), 0)

    def test_a_series_that_may_come_is_awaited(self):
        self.exprun("tiny.toml", "steps=1000000", "evaluation.val_loss.every='1000000 steps'", "--detach")
        terminal = Terminal(self, "watch", "--metric", "eval/quiz/points")
        terminal.wait_for("no series 'eval/quiz/points' yet")
        self.exprun("stop", "@last")
        terminal.wait_for("no series 'eval/quiz/points'(?! yet)")
        os.write(terminal.terminal, b"q")
        self.assertEqual(terminal.ended(), 0)

    def test_curves_after_a_resume_are_those_of_the_store(self):
        self.exprun("tiny.toml", *LONG, "run.length='60 steps'", "checkpoint.every='20 steps'")
        terminal = Terminal(self, "watch", "tiny", "--metric", "train/loss")
        terminal.wait_for("step 60/60")
        self.exprun("resume", "tiny", "run.steps=90")
        terminal.wait_for("step 90/90")
        last = self.rows("SELECT last FROM series WHERE name = 'train/loss'")[0][0]
        terminal.wait_for(rf"train/loss, last {last:.4g}"[:21])
        os.write(terminal.terminal, b"q")
        self.assertEqual(terminal.ended(), 0)

    def test_a_sweep(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-2,1e-3,1e-4", "evaluation.val_loss.every='20 steps'", "evaluation.val_loss.tokens=64")
        lines = self.exprun("watch", "--once").out.splitlines()
        self.assertRegex(lines[0], r"^sweep 1 of tiny: finished")
        self.assertRegex(lines[1], r"^100% \[=+\]  3 of 3 finished$")
        self.assertRegex(lines[2], r"^best: lr=1e-2, val/loss [\d.]+ at step 40 \(tiny-\w{8}\)$")
        self.assertEqual([re.split(" +", line)[2] for line in lines[5:8]], ["lr=1e-2", "lr=1e-3", "lr=1e-4"])
        self.assertIn("val/loss by step", lines)
        self.assertEqual(lines, self.exprun("watch", "--sweep", "@last", "--once").out.splitlines())
        by_name = self.exprun("watch", "tiny", "--once")  # which is the name of its trials too
        self.assertEqual((by_name.out.splitlines(), by_name.err),
                         (lines, f"exprun: watch: sweep 1; for its newest trial alone, use {self.run_folder().name}\n"))
        self.assertTrue(self.exprun("watch", self.run_folder().name, "--once").out.startswith(self.run_folder().name))
        self.assertEqual(self.exprun("watch", "--once", "--metric", "val/los", code=2).err,
                         "exprun: error: watch: none of the runs has a series 'val/los'; did you mean 'val/loss'?\n")

    def test_a_trial_that_was_interrupted_is_counted(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-2,1e-3", "max_minutes=1e-5", code=75)
        self.assertRegex(self.exprun("watch", "--once").out.splitlines()[1], r"0 of 2 finished  1 waiting  1 interrupted$")

    def test_a_series_that_only_the_worst_of_many_trials_has_is_plotted(self):
        self.exprun("sweep", "tiny.toml", "seed=1,2,3,4,5,6,7,8", "steps=1")
        for run in range(1, 9):
            self.set_series(run, "val/loss", {1: 2.0 + run})
        self.set_series(8, "eval/quiz/points", {1: 3.0})
        for words in ["val/loss", "eval/quiz/points"], ["eval/quiz/points"]:
            shown = self.exprun("watch", "--once", *(word for name in words for word in ("--metric", name)))
            for name in words:
                self.assertIn(f"\n{name} by step\n", shown.out)
            self.assertNotIn("no series", shown.out)

    def test_mistakes(self):
        self.assertIn("there is no store", self.exprun("watch", code=4).err)
        self.exprun("tiny.toml")
        for words, code, said in (
                ([], 2, "watch: standard output is not a terminal that can be drawn on; `exprun watch --once` prints how it stands now"),
                (["nobody"], 4, "nobody"), (["--sweep", "9"], 4, "sweep"), (["1", "--sweep", "1"], 2, "watch: give a run or --sweep")):
            result = self.exprun("watch", *words, code=code)
            self.assertEqual(result.out, "")
            self.assertIn(said, result.err)
        for words in ("--once",), ():
            said = self.exprun("watch", *words, "--metric", "foo", code=2).err
            self.assertRegex(said, r"^exprun: error: watch: tiny-\w{8} has no series 'foo'; there are train/loss, ")
        terminal = Terminal(self, "watch", term="dumb")
        self.assertEqual(terminal.process.wait(TIMEOUT), 2)
        self.assertIn(b"standard output is not a terminal that can be drawn on", terminal.process.stderr.read())


if __name__ == "__main__":
    unittest.main()
