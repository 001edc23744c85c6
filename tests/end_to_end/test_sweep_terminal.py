"""A sweep in a terminal: what it asks, and the table of the trials that run."""
import os
import re
import shutil
import signal
import unittest

from support import TIMEOUT
from sweep_crashes import SweepCrashes
from terminals import Terminal

MANY = ("sweep", "tiny.toml", "seed=range(101)", "steps=2")


class SweepTerminal(SweepCrashes):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.wait_for_the_end_of_trials)

    def begin(self, *words, columns=100):
        return Terminal(self, *words, columns=columns, errors=None)

    def end(self, terminal, code):
        self.assertEqual(terminal.process.wait(TIMEOUT), code)
        terminal.read(0.1)

    def stop(self, terminal):
        terminal.process.send_signal(signal.SIGINT)
        self.end(terminal, 130)

    def test_it_asks_before_very_many_trials_start(self):
        for answer in (b"n\n", b"\n", b"what\n"):
            terminal = self.begin(*MANY)
            terminal.wait_for_lines(r"exprun: sweep of 101 trials \(101 seeds\)\nStart 101 trials\? \[y/N\] ")
            os.write(terminal.terminal, answer)
            self.end(terminal, 2)
            self.assertIn("exprun: error: sweep: nothing was started\n", terminal.lines())
        self.assertEqual(self.rows("SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM sweep)"), [(0, 0)])

    def test_the_answer_yes_and_the_option_start_them(self):
        terminal = self.begin(*MANY)
        terminal.wait_for_lines("Start 101 trials")
        os.write(terminal.terminal, b"y\n")
        terminal.wait_for_lines(r"(?<!\d)[1-9]\d* of 101 trials finished, 1 running")
        self.stop(terminal)
        finished = "SELECT count(*) FROM runs WHERE state = 'finished'"
        (before,) = self.rows(finished)[0]
        self.assertGreater(before, 0)
        process = self.start(*MANY, "--yes")
        self.wait_until(lambda: self.rows(finished)[0][0] > before, process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 130)

    def test_a_table_of_the_trials_that_run(self):
        line = ("sweep", "tiny.toml", "optimizer.lr=1e-2,2e-2,3e-2", "steps=1000000", "evaluation.val_loss.every=100 steps",
                "evaluation.val_loss.tokens=64", "-j", "2")
        terminal = self.begin(*line)
        terminal.wait_for_lines(r"trial +lr +step +state +ETA +loss +val/loss")
        for trial, rate in (1, r"0\.01"), (2, r"0\.02"):
            terminal.wait_for_lines(rf"    {trial}  {rate} +\d+/1000000  running +\d+ \S+( \d+ \S+)? +\d\.\d{{3,4}} +\d\.\d{{3,4}}  [▁▂▃▄▅▆▇█]{{2}}")
        terminal.wait_for_lines(r"0 of 3 trials finished, 2 running, ETA \d+ \S+")
        self.assertNotIn("    3  0.03", terminal.lines())
        self.assertNotIn("[1/3]", terminal.lines())
        self.stop(terminal)
        shown = terminal.lines()
        self.assertIn("exprun: stopping: the trials save their state\n", shown)
        self.assertRegex(shown, r"exprun: \[1/3\] optimizer.lr=1e-2: interrupted, best val/loss ")
        self.assertRegex(shown, r"\r(\x1b\[\dA\x1b\[J|\x1b\[K)exprun: 0 of 3 trials finished, 2 interrupted; the same command continues it\n\Z")

    def test_lines_are_no_longer_than_the_terminal(self):
        terminal = self.begin("sweep", "tiny.toml", "lr=1e-2,2e-2", "seed=1,2", "steps=1000000", "-j", "2", columns=40)
        terminal.wait_for_lines(r"trial +lr +seed +step")
        terminal.wait_for_lines(r"    1 +0\.01 +1 +\d+/1000000")
        self.stop(terminal)
        for line in re.split(r"\n|\r|\x1b\[\d*[ABJK]", terminal.lines()):
            self.assertLessEqual(len(line), 40, line)

    def test_the_list_of_sweeps_names_the_best_point_at_80_columns(self):
        self.exprun("sweep", "tiny.toml", "optimizer.lr=1e-3,1e-2", "model.num_layers=1,2", "steps=4", "evaluation.val_loss.every=4 steps")
        terminal = self.begin("sweep", "ls", columns=80)
        self.end(terminal, 0)
        self.assertRegex(terminal.lines(), r"\Asweep +name +state +trials +finished +.*best +of\b.*\n"
                                           r" +1 +tiny +finished +4 +4 .*\d\.\d{3} +lr=1e-2 num_layers=\d\b")
        for words, begin in ((("sweep", "show"), "variance explained: "), (("show", "@last"), "# libraries   libtorch ")):
            terminal = self.begin(*words, columns=80)
            self.end(terminal, 0)
            lines = terminal.lines().splitlines()
            (first,) = [number for number, line in enumerate(lines) if line.startswith(begin)]
            for line in lines[first:first + 2]:
                self.assertLessEqual(len(line), 80, line)
            self.assertRegex(lines[first + 1], r"\A(  |#             )[\w(]")
        for folder in (self.folder / "runs").glob("tiny-*"):
            shutil.rmtree(folder)
        terminal = self.begin("doctor", columns=60)
        self.end(terminal, 0)
        self.assertRegex(terminal.lines(), r"\n  folders missing      tiny-\w+, tiny-\w+,\n {23}tiny-\w+")


if __name__ == "__main__":
    unittest.main()
