"""`exprun watch`: what it shows of runs and sweeps, in a terminal and as text."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unittest

from shells import has_terminals
from support import BUILD, TIMEOUT, ExprunTest

TAKEN, GIVEN_BACK = b"\x1b[?1049h\x1b[?25l\x1b[?7l", b"\x1b[?7h\x1b[?25h\x1b[?1049l"
LONG = ("steps=1000000", "evaluation.val_loss.every='100 steps'", "evaluation.val_loss.tokens=64")


class Terminal:
    """A pseudo-terminal with exprun in it, and the page as it stands: the few codes that exprun writes."""

    def __init__(self, test, *words, columns=100, lines=30, term="xterm"):
        self.test = test
        self.terminal, self.end = pty.openpty()
        test.addCleanup(os.close, self.terminal)
        self.size(columns, lines)
        self.before = termios.tcgetattr(self.end)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EXPRUN_")}
        environment |= {"TERM": term, "NO_COLOR": "1", "XDG_CACHE_HOME": str(test.folder / "cache")}
        self.process = subprocess.Popen([BUILD / "exprun", *words], cwd=test.folder, stdin=self.end, stdout=self.end,
                                        stderr=subprocess.PIPE, env=environment, start_new_session=True)
        test.addCleanup(self.process.stderr.close)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        self.written, self.page = b"", {}

    def size(self, columns, lines):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    def read(self, seconds):
        """What is written within that time."""
        more, late = b"", time.monotonic() + seconds
        while (left := late - time.monotonic()) > 0 and select.select([self.terminal], [], [], left)[0]:
            more += os.read(self.terminal, 65536)
        self.written += more
        return more

    def shown(self):
        page = {}
        for row, line in re.findall(r"\x1b\[(?:(\d+);1H\x1b\[2K|2J)([^\x1b]*)", self.written.decode(errors="replace")):
            if row:
                page[int(row)] = line
            else:
                page = {}
        return [page.get(row, "") for row in range(1, max(page, default=0) + 1)]

    def wait_for(self, pattern):
        late = time.monotonic() + TIMEOUT
        while not re.search(pattern, "\n".join(self.shown())):
            self.test.assertLess(time.monotonic(), late, f"{pattern} is not shown:\n" + "\n".join(self.shown()))
            self.test.assertIsNone(self.process.poll(), "watch has ended")
            self.read(0.2)

    def ended(self):
        """Its exit code, once it has given the terminal back as it was."""
        code = self.process.wait(TIMEOUT)
        self.read(0.1)
        self.test.assertTrue(self.written.startswith(TAKEN), self.written[:40])
        self.test.assertTrue(self.written.endswith(GIVEN_BACK), self.written[-40:])
        self.test.assertEqual(termios.tcgetattr(self.end), self.before)
        return code


class Watch(ExprunTest):
    def terminal(self, *words, **size):
        if not has_terminals():
            self.skipTest("this machine has no pseudo-terminals")
        return Terminal(self, *words, **size)

    def begin(self):
        self.exprun("tiny.toml", *LONG, "--detach")
        self.addCleanup(self.exprun, "stop", "tiny")

    def test_once_of_a_finished_run(self):
        self.exprun("tiny.toml", "evaluation.val_loss.every='10 steps'", "evaluation.val_loss.tokens=64")
        lines = self.exprun("watch", "--once").out.splitlines()
        self.assertRegex(lines[0], r"^tiny-\w{8}: finished")
        self.assertRegex(lines[1], r"^100% \[=+\]  step 40/40  ")
        self.assertRegex(lines[2], r"^train/loss [\d.]+  val/loss [\d.]+ \(best [\d.]+ at step \d+\)  lr 0.01  (grad_norm [\d.]+  )?[\d,]+ tokens/s$")
        self.assertIn("train/loss, val/loss by step", lines)
        log = self.exprun("logs", "tiny").out.splitlines()
        self.assertEqual(lines[-1], log[-1][:100])
        self.assertTrue(all(len(line) <= 100 for line in lines), lines)

    def test_live_until_q(self):
        self.begin()
        terminal = self.terminal("watch")
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
        terminal = self.terminal("watch")
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
            terminal = self.terminal("watch", "tiny")
            terminal.wait_for("q: quit")
            terminal.process.send_signal(number)
            self.assertEqual(terminal.ended(), 0)

    def test_curves_after_a_resume_are_those_of_the_store(self):
        self.exprun("tiny.toml", *LONG, "run.length='60 steps'", "checkpoint.every='20 steps'")
        terminal = self.terminal("watch", "tiny", "--metric", "train/loss")
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

    def test_mistakes(self):
        self.assertIn("there is no store", self.exprun("watch", code=4).err)
        self.exprun("tiny.toml")
        for words, code, said in (
                ([], 2, "watch: standard output is not a terminal that can be drawn on; `exprun watch --once` prints how it stands now"),
                (["nobody"], 4, "nobody"), (["--sweep", "9"], 4, "sweep"), (["1", "--sweep", "1"], 2, "watch: give a run or --sweep")):
            result = self.exprun("watch", *words, code=code)
            self.assertEqual(result.out, "")
            self.assertIn(said, result.err)
        terminal = self.terminal("watch", term="dumb")
        self.assertEqual(terminal.process.wait(TIMEOUT), 2)
        self.assertIn(b"standard output is not a terminal that can be drawn on", terminal.process.stderr.read())


if __name__ == "__main__":
    unittest.main()
