"""What a terminal shows of a run: at 80 and 120 columns, with colors and without; and what a log gets instead."""
import contextlib
import fcntl
import os
import pty
import re
import select
import shlex
import struct
import subprocess
import termios
import time
import unittest

from shells import has_terminals
from support import BUILD, ROOT, TIMEOUT, ExprunTest

COLORS = {"1": "bold", "1;31": "red", "32": "green", "1;33": "yellow", "36": "cyan", "0": "/"}
EVALUATED = """
[evaluation.val_loss]
every = "20 steps"
tokens = 640

[evaluation.sample]
prompt = "sea"
tokens = 4
"""


def lines_of(written):
    """The lines as they stand at last, and every state that the progress line had."""
    done, states, line = [], [], ""
    for part in re.split(r"(\n|\r\x1b\[K)", written.replace("\r\n", "\n")):
        if part == "\n":
            done.append(line)
        elif part.startswith("\r"):
            states.append(line)
        line = "" if part == "\n" or part.startswith("\r") else line + part
    return done + [line] * bool(line), states


def named_colors(text):
    return re.sub(r"\x1b\[([0-9;]*)m", lambda code: f"<{COLORS.get(code[1] or '0', code[1])}>", text)


def without_codes(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def normalized(text):
    """What a clock, a machine or a bar's width decides is replaced."""
    for pattern, name in ((r"(?:<1 s|\d+ (?:s|min|h|d)(?: \d+ (?:s|min|h))?)(?=$|[ ,\n<])", "TIME"),
                          (r"[\d,.]+ tokens/s", "RATE tokens/s"), (r"\[(<cyan>)?=*>?(</>)? *\]", r"[\1BAR\2]"),
                          (r"-[0-9a-f]{8}\b", "-UID"), (r"about [\d.]+ .?iB", "about SIZE"),
                          (r"(?:<green>|<yellow>)?[↓→↑](?:</>)?", "TREND"), (r"\b\d+\.\d{3,4}(?=$|[ ,)T])", "LOSS")):
        text = re.sub(pattern, name, text)
    return text


class Screen(ExprunTest):
    def setUp(self):
        super().setUp()
        if not has_terminals():
            self.skipTest("this machine has no pseudo-terminals")

    def shown(self, *words, columns, color=False, code=0, term="xterm-256color"):
        terminal, end = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLORTERM")}
        environment |= {"TERM": term, "XDG_CACHE_HOME": str(self.folder / "cache")} | ({} if color else {"NO_COLOR": "1"})
        process = subprocess.Popen([BUILD / "exprun", *words], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=end, env=environment, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        os.close(end)
        written, late = b"", time.monotonic() + TIMEOUT
        with contextlib.suppress(OSError):  # what a terminal says when nobody writes to it any more
            while time.monotonic() < late and select.select([terminal], [], [], TIMEOUT)[0]:
                more = os.read(terminal, 65536)
                if not more:
                    break
                written += more
        os.close(terminal)
        self.assertEqual(process.wait(timeout=TIMEOUT), code, written.decode())
        return written.decode()

    def run_shown(self, *words, columns, **more):
        tiny = (self.folder / "tiny.toml").read_text().removesuffix(EVALUATED)
        self.write("tiny.toml", tiny + EVALUATED)
        lines, states = lines_of(self.shown("tiny.toml", *words, columns=columns, **more))
        for line in lines + states:
            self.assertLessEqual(len(without_codes(line)), columns, line)
        return lines, [state for state in states if state]

    def ending(self, lines):
        (start,) = [number for number, line in enumerate(lines) if "finished at step" in without_codes(line)]
        text = "\n".join(lines[start:])
        return normalized(re.sub(r"\n {4,}(?=\S)", " ", text))  # where lines are broken follows the numbers

    def last_step(self, states):
        """The last step's line is always drawn."""
        steps = [state for state in states if re.search(r" 40/40 +loss", without_codes(state))]
        self.assertTrue(steps, states)
        return normalized(named_colors(steps[-1]))

    def test_a_run(self):
        """At each width, with colors and without."""
        for columns in (80, 120):
            for color in (False, True):
                with self.subTest(columns=columns, color=color):
                    lines, states = self.run_shown("--store", f"{columns}{color}", columns=columns, color=color)
                    bar = "[<cyan>BAR</>]" if color else "[BAR]"
                    # At 80 columns the time that has passed gives way first; a slow machine's rate leaves room for it.
                    self.assertIn(self.last_step(states), (
                        [f"100% {bar}  40/40  loss LOSSTREND  val LOSS  best LOSS  RATE tokens/s  TIME  ETA TIME"] if columns == 120 else
                        [f"100% {bar} 40/40 loss LOSSTREND val LOSS best LOSS RATE tokens/s{time} ETA TIME" for time in ("", " TIME")]))
                    self.assertEqual(self.ending(lines), f"""\
exprun: finished at step 40/40, val loss LOSS (best LOSS at step 40), RATE tokens/s, TIME of training
exprun: saved in {columns}{color}/tiny-UID/checkpoints/step_00000040
exprun: samples in {columns}{color}/tiny-UID/samples
exprun: next:
  exprun report --store {columns}{color}   compares the runs
  exprun sample tiny-UID --store {columns}{color}   generates text with it
  exprun resume tiny-UID run.steps=80 --store {columns}{color}   trains it twice as long""")

    def test_a_sweep(self):
        """At each width, with colors and without."""
        for columns in (80, 120):
            for color in (False, True):
                with self.subTest(columns=columns, color=color):
                    written = self.shown("sweep", "tiny.toml", "lr=1e-2,2e-2", "steps=1000", "evaluation.val_loss.every=100 steps", "-j", "2",
                                         "--store", f"{columns}{color}", columns=columns, color=color).replace("\r\n", "\n")
                    drawn = [piece for piece in re.split(r"\n|\r|\x1b\[\d*[ABJK]", written) if piece]
                    for piece in drawn:
                        self.assertLessEqual(len(without_codes(piece)), columns, piece)
                    table = {re.sub(r" {2,}", "  ", piece).strip() for piece in drawn if re.search(r"trial +lr|running", piece)}
                    for row in table:
                        self.assertRegex(row, r"^trial  lr  step  state(  ETA  val/loss)?$|^[12]  0\.0[12]  \d+/1000  running"
                                              r"(  (<1 s|\d+ \S+( \d+ s)?))?(  \d\.\d+  [▁▂▃▄▅▆▇█]+)?$|^[01] of 2 trials finished, [12] running(, ETA (<1 s|\d+ \S+( \d+ s)?))?$")
                    ending = written[written.index("exprun: the trials that finished"):]
                    ending = re.sub(r"0\.0\d  LOSS  \d+", "LR  LOSS  STEP", normalized(re.sub(r" {2,}", "  ", re.sub(r" *\n {4,}(?=\S)", " ", ending))))
                    self.assertEqual(re.sub(r"\d\.\d\ds", "TIME", re.sub(r"[12]e-2", "LR", re.sub(r"at step \d+ \(", "at step STEP (", ending))), f"""\
exprun: the trials that finished, best first:
  lr  best val/loss  at step  time  run
LR  LOSS  STEP  TIME  tiny-UID
LR  LOSS  STEP  TIME  tiny-UID
exprun: best: lr=LR, val/loss LOSS at step STEP (tiny-UID)
exprun: next:
  exprun tiny.toml lr=LR 'evaluation.val_loss.every=100 steps' steps=2000 --store {columns}{color}  trains the best point again, for twice as long
  exprun sweep show 1 --store {columns}{color}  shows every trial
  exprun report --sweep 1 --store {columns}{color}  compares the runs
""")

    def test_what_comes_next_is_a_command_that_works(self):
        for kind in sorted(path.name.removesuffix(".schema.json") for path in (ROOT / "schemas/schedule").iterdir()):
            with self.subTest(schedule=kind):
                words = (f"schedule.type={kind}", *(["half_period=3 steps"] if kind == "cosine_annealing" else []))
                command = self.offered("tiny.toml", "steps=4", *words)
                verb = "resume" if kind in ("constant", "cosine_annealing", "inverse_sqrt") else "fork"
                self.assertRegex(" ".join(command), rf"^{verb} tiny-\w{{8}} run\.steps=8$")
                self.exprun(*command)
                self.assertEqual(self.rows("SELECT steps, last_step, state FROM runs ORDER BY run DESC LIMIT 1"), [(8, 8, "finished")])
        command = self.offered("tiny.toml", "~run.steps", "length=256 tokens", "schedule.type=cosine", "schedule.decay_until=1 step", "min_lr_factor=0.1",
                               "--store", "other")
        self.assertRegex(" ".join(command), r"^resume tiny-\w{8} run\.length=\d+ tokens --store other$")
        self.exprun(*command)

    def offered(self, *words):
        """The words of the last command that a run offers at its end."""
        return shlex.split(self.exprun(*words).err.splitlines()[-1].strip().split("   ")[0])[1:]

    def test_a_run_that_stopped_improving_is_offered_no_more_steps(self):
        said = self.exprun("tiny.toml", "evaluation.val_loss.every=1 step", "run.early_stop={patience=1, min_delta=10.0}").err
        self.assertRegex(said, r"exprun: next:\n  exprun report   [^\n]*\n  exprun sample tiny-\w{8}   [^\n]*\n\Z")

    def test_the_learning_rate_and_the_formula_of_mfu_are_shown_on_demand(self):
        lines, states = self.run_shown("-v", "metrics.peak_tflops=1", columns=140)
        self.assertIn("  lr 0.01000  ", self.last_step(states).replace("lr LOSS", "lr 0.01000"))
        self.assertRegex("\n".join(lines), r"MFU [\d.]+% \(convention P, peak 1 TFLOP/s\)")
        lines, _ = self.run_shown_again("--new", "metrics.peak_tflops=1", columns=140)
        self.assertNotIn("MFU", "\n".join(lines))

    def run_shown_again(self, *words, columns):
        return lines_of(self.shown("tiny.toml", *words, columns=columns))

    def test_an_evaluation_shows_how_far_it_is_in_the_line_of_the_run(self):
        _, states = self.run_shown("evaluation.sample.tokens=20000", "evaluation.sample.temperature=0", columns=120)
        sampling = [normalized(state) for state in states if " sample: " in state]
        self.assertTrue(sampling, states)
        self.assertRegex(sampling[-1], r"^100% \[BAR\]  40/40  sample: [\d.]+( k)? of 20\.0 k tokens(, [\d.]+( k)? tokens/s, ETA TIME)?$")

    def test_mistakes_are_in_color_in_every_terminal_that_has_some(self):
        self.write("wrong.toml", (self.folder / "tiny.toml").read_text().replace("num_heads = 2", "num_heads = 3"))
        for term in ("tmux", "tmux-256color", "screen", "foot", "xterm"):
            with self.subTest(term=term):
                shown = named_colors(self.shown("wrong.toml", columns=80, color=True, code=2, term=term).replace("\r\n", "\n"))
                self.assertEqual(shown, """\
<bold>wrong.toml:10:13: </><red>error:</> 'num_heads' must divide hidden_size, 16
    num_heads = 3
                <green>^</> 2 or 4 would work
""")
        for term, color in (("xterm", False), ("dumb", True)):
            shown = self.shown("wrong.toml", columns=80, color=color, code=2, term=term)
            self.assertNotIn("\x1b", shown)

    def test_messages_are_broken_between_words(self):
        self.write("wrong.toml", (self.folder / "tiny.toml").read_text() + "[evaluation.hellaswag]\nevery = '5 steps'\n")
        for columns in (60, 80):
            plain = self.exprun("wrong.toml", code=2).err
            shown = self.shown("wrong.toml", columns=columns, code=2).replace("\r\n", "\n")
            for line in shown.splitlines():
                self.assertTrue(len(line) <= columns or " " not in line.strip(), line)
            self.assertEqual(set(plain.split()), set(shown.split()))

    def test_a_log_gets_lines(self):
        result = self.exprun("tiny.toml", "metrics.progress_every=20 steps")
        lines = [normalized(line) for line in result.err.splitlines() if "/40 " in line]
        self.assertEqual(lines, [f"exprun: step {step}/40  loss LOSS  RATE tokens/s  elapsed TIME  ETA TIME" for step in (20, 40)])
        self.assertNotIn("\r", result.err)


if __name__ == "__main__":
    unittest.main()
