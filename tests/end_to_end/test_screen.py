"""What a terminal shows of a run, a sweep and of mistakes, as tests/golden/screens has it (goldens.py): at 80 and 120
columns, with colors and without; and what a log gets instead. Of the golden text, only what differs from machine to
machine is replaced: times, rates, bars, names of runs, the last digit of a loss; and what a sweep's table shows of
training, which goes on between two looks."""
import contextlib
import fcntl
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest

import goldens
from goldens import named_colors, without_colors
from shells import has_terminals
from support import BUILD, ROOT, TIMEOUT, ExprunTest
from terminals import Terminal, lines_left

TIME = r"(?:<1 ?s|\d+\.\d+s|\d+ ?(?:s|min|m|h|d)(?: ?\d+ ?(?:s|min|m|h))?)"
SCREENS = ROOT / "tests/golden/screens"
EVALUATED = """
[evaluation.val_loss]
every = "20 steps"
tokens = 640

[evaluation.sample]
prompt = "sea"
tokens = 4
temperature = 0
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


def normalized(text):
    """What a clock, a machine or a bar's width decides is replaced."""
    for pattern, name in ((r"-[0-9a-f]{8}\b", "-UID"), (rf"(?<![\w.-]){TIME}(?=$|[ ,\n<])", "TIME"), (r" +(time  run|TIME  tiny-)", r"  \1"),
                          (r"[\d,.]+ ?k? tok(?:ens)?/s", "RATE"), (r"\[(<cyan>)?=*>?(</>)? *\]", r"[\1BAR\2]"), (r"LibTorch [^\n]*, (?=\d+ thread)", "LIBRARIES, "),
                          (r"((?:loss|val|best) |  )(\d+\.\d)\d{2}(?=$|[ ,↓↑→<\n])", r"\1\2##"), (r"(loss |best )(\d+\.\d\d)\d{2}\b", r"\1\2##")):
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
            self.assertLessEqual(len(without_colors(line)), columns, line)
        return lines, [state for state in states if state]

    def last_step(self, states):
        """The last step's line is always drawn."""
        steps = [state for state in states if re.search(r" 40/40 +loss", without_colors(state))]
        self.assertTrue(steps, states)
        return normalized(named_colors(steps[-1]))

    def test_a_run(self):
        self.write("tiny.toml", (self.folder / "tiny.toml").read_text() + EVALUATED)
        goldens.check(self, SCREENS / "run.txt", self.run_answer)

    def run_answer(self, command):
        """The lines as they stand at last, behind the line of the run at its last step, which is always drawn."""
        columns, color, words = goldens.parsed(command)
        shutil.rmtree(self.folder / "runs", ignore_errors=True)
        lines, states = lines_of(self.shown(*words, columns=columns, color=color))
        for line in lines + states:
            self.assertLessEqual(len(without_colors(line)), columns, line)
        last = [state for state in states if re.search(r" 40/40 +loss", without_colors(state))]
        self.assertTrue(last, states)
        return self.settled("\n".join([last[-1], "", *lines, ""]))

    def test_a_sweep(self):
        goldens.check(self, SCREENS / "sweep.txt", self.sweep_answer)

    def sweep_answer(self, command):
        """Of a sweep without an end, the table once all that it shows is known; of another one, the lines at its end."""
        columns, color, words = goldens.parsed(command)
        shutil.rmtree(self.folder / "runs", ignore_errors=True)
        terminal = Terminal(self, *words, columns=columns, errors=None, colors=color)
        endless, row = "steps=1000000" in words, rf" *[12] .* {TIME} .*[▁▂▃▄▅▆▇█]{{2}}"
        if endless:
            terminal.read_until(rf" *trial .*\n{row}\n{row}\n.*2 running, ETA .*\Z", lambda: "\n".join(lines_left(terminal.lines())))
            table = lines_left(terminal.lines())[-4:]
            terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.process.wait(TIMEOUT), 130 if endless else 0, terminal.lines())
        terminal.read(0.1)
        for piece in re.split(r"\n|\r|\x1b\[\d*[ABJK]", terminal.lines()):
            self.assertLessEqual(len(without_colors(piece)), columns, piece)
        return "".join(map(self.table_row, table)) if endless else self.settled("\n".join(lines_left(terminal.lines())))

    @staticmethod
    def table_row(line):
        """Its columns are as wide as what stands in them: at 80 the time that is left may take the state's place."""
        row = re.sub(r" {2,}", "  ", named_colors(line).strip()) + "\n"
        for pattern, name in ((r"  (state|running)(?=  )", ""), (r"\d+(/1000000)", r"STEP\1"), (rf"(1000000  |ETA ){TIME}", r"\1TIME"), (r"\d\.\d{3,4}(?=  )", "LOSS"),
                              (r"[▁▂▃▄▅▆▇█]+", "CURVE")):
            row = re.sub(pattern, name, row)
        return row

    def settled(self, text):
        """A message that a machine's numbers are in is in one line: they decide where it is broken."""
        messages = re.split(r"\n(?! {4,}\S)", named_colors(text))
        lines = []
        for message in messages:
            whole = normalized(re.sub(r"\n {4,}(?=\S)", " ", message))
            lines.append(whole if re.search("RATE|TIME", whole) else normalized(message))
        return "\n".join(lines)

    def test_mistakes(self):
        self.write("wrong.toml", (self.folder / "tiny.toml").read_text().replace("num_heads = 2", "num_heads = 3")
                   .replace("lr = 1e-2", "learning_rate = 1e-2\nbetas = [0.9, 1.5]").replace("text.txt", "texts.txt"))
        self.exprun("tiny.toml", "steps=1")
        goldens.check(self, SCREENS / "mistakes.txt", self.mistakes_answer)

    def mistakes_answer(self, command):
        columns, color, words = goldens.parsed(command)
        shown = self.shown(*words, columns=columns, color=color, code=2).replace("\r\n", "\n")
        # How long the folder's path is decides where the lines around it are broken.
        shown = named_colors(shown).replace(str(self.folder), "HERE")
        return normalized(re.sub(r"\s+(paths are relative to the working directory,)\s+HERE", r" \1 HERE", shown))

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
        self.assertIn("  lr 0.01000  ", self.last_step(states))
        self.assertRegex("\n".join(lines), r"MFU [\d.]+% \(convention P, peak 1 TFLOP/s\)")
        lines, _ = self.run_shown_again("--new", "metrics.peak_tflops=1", columns=140)
        self.assertNotIn("MFU", "\n".join(lines))

    def run_shown_again(self, *words, columns):
        return lines_of(self.shown("tiny.toml", *words, columns=columns))

    def test_an_evaluation_shows_how_far_it_is_in_the_line_of_the_run(self):
        _, states = self.run_shown("evaluation.sample.tokens=20000", "evaluation.sample.temperature=0", columns=120)
        sampling = [normalized(state) for state in states if " sample: " in state]
        self.assertTrue(sampling, states)
        self.assertRegex(sampling[-1], r"^100% \[BAR\]  40/40  sample: [\d.]+( k)? of 20\.0 k tokens(, RATE, ETA TIME)?$")

    def test_a_sample_that_nobody_sees_being_written_shows_how_far_it_is(self):
        self.exprun("tiny.toml")
        written = self.shown("sample", "@last", "tokens=5000", "samples=2", columns=80)
        _, states = lines_of(written)
        self.assertTrue(any(re.match(r" *\d+% \[=*> *\]  sample: [\d.,]+( k)? of 10\.0 k tokens", state) for state in states), states)
        self.assertTrue(written.endswith("\r\x1b[K"), written[-200:])

    def test_mistakes_are_in_color_in_every_terminal_that_has_some(self):
        self.write("wrong.toml", (self.folder / "tiny.toml").read_text().replace("num_heads = 2", "num_heads = 3"))
        for term in ("tmux", "tmux-256color", "screen", "foot", "xterm"):
            with self.subTest(term=term):
                shown = named_colors(self.shown("wrong.toml", columns=80, color=True, code=2, term=term).replace("\r\n", "\n"))
                self.assertEqual(shown, """\
<bold>wrong.toml:10:13: </><bold red>error:</> 'num_heads' must divide hidden_size, 16
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

    def test_what_stands_in_the_line_is_erased_before_the_last_message(self):
        """The "^C" that the terminal echoes, and the progress of a trainer that was killed."""
        for ending, said in ((lambda shown, trainer: os.write(shown.terminal, b"\x03"), r"interrupted at step \d+/1000000"),
                             (lambda shown, trainer: os.kill(trainer, signal.SIGKILL), r"warning: [\w-]+ was killed: ")):
            with self.subTest(said=said):
                shown = Terminal(self, "tiny.toml", "--new", "steps=1000000", "evaluation.val_loss.every=100000 steps",
                                 "evaluation.sample.every=100000 steps", columns=80, errors=None, controls=True)
                shown.wait_for_lines(r"/1000000 loss")
                (trainer,) = map(int, pathlib.Path(f"/proc/{shown.process.pid}/task/{shown.process.pid}/children").read_text().split())
                ending(shown, trainer)
                shown.wait_for_lines(said)
                self.assertRegex(shown.lines(), r"\r\x1b\[Kexprun: " + said)

    def test_a_log_gets_lines(self):
        result = self.exprun("tiny.toml", "metrics.progress_every=20 steps")
        lines = [re.sub(r"loss \d\.\d\d##", "loss LOSS", normalized(line)) for line in result.err.splitlines() if "/40 " in line]
        self.assertEqual(lines, [f"exprun: step {step}/40  loss LOSS  RATE  elapsed TIME  ETA TIME" for step in (20, 40)])
        self.assertNotIn("\r", result.err)


if __name__ == "__main__":
    unittest.main()
