"""Contestants measured in alternation, and the table of their figures, in which less is better."""
import dataclasses
import json
import os
import selectors
import statistics
import subprocess
import time


class Failed(Exception):
    """Why a contestant has no figure: a row that says so."""


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "it said nothing"


def how_it_ended(code):
    return f"ended by signal {-code}" if code < 0 else f"ended with {code}"


def ran(command, environment=None, timeout=300, **more):
    """What a program printed. Raises Failed."""
    try:
        done = subprocess.run([str(word) for word in command], env={**os.environ, **(environment or {})}, timeout=timeout,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(str(error)[:160]) from None
    if done.returncode:
        raise Failed(f"{how_it_ended(done.returncode)}: {last_line(done.stderr)}")
    return done.stdout


class Worker:
    """A process that answers each line with a line of JSON, so that starting and warming up are paid for once."""

    def __init__(self, command, environment, log, timeout=300, **more):
        self.log, self.timeout = log, timeout
        with open(log, "wb") as errors:
            try:
                self.process = subprocess.Popen([str(word) for word in command], env={**os.environ, **environment},
                                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, **more)
            except OSError as error:
                raise Failed(str(error)) from None

    def ask(self, request):
        try:
            self.process.stdin.write(request.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it has died: answer() says how
        return self.answer()

    def answer(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            if not selector.select(self.timeout):
                self.end()
                raise Failed(f"no answer in {self.timeout} s")
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        code = self.process.wait()
        raise Failed(f"{how_it_ended(code)}: {last_line(self.log.read_text(errors='replace'))}")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def alternate(contestants, rounds):
    """{name: what its function returned each round, or why it has no figure (Failed)}, one after another in each round."""
    found = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, measure in contestants.items():
            if isinstance(found[name], Failed):
                continue
            try:
                found[name].append(measure())
            except Failed as failure:
                found[name] = failure
    return found


def median(values):
    """Of what alternate() found for a contestant, as one figure; why there is none stays."""
    return values if isinstance(values, Failed) else statistics.median(values)


@dataclasses.dataclass
class Row:
    name: str
    figure: float | None = None
    ratio: float | None = None  # ours to theirs
    goal: str | None = None
    met: bool | None = None
    note: str = ""


class Table:
    """Ours first, then each peer with the ratio of ours to its figure. A goal is the most that ours may be: of a peer's
    figure, or for our own row in the unit."""

    def __init__(self, title, unit, figures, goals=None, notes=None, digits=2):
        self.title, self.unit, self.digits = title, unit, digits
        goals, notes = goals or {}, notes or {}
        ours = next(iter(figures.values()))
        self.rows = [self.row(name, figure, ours, goals.get(name), notes.get(name, ""), number > 0)
                     for number, (name, figure) in enumerate(figures.items())]

    @staticmethod
    def row(name, figure, ours, goal, note, peer):
        if isinstance(figure, Failed):
            return Row(name, note=f"no figure: {figure}", goal=None if goal is None else f"<= {goal:g}")
        row = Row(name, figure, note=note)
        if peer and not isinstance(ours, Failed) and figure > 0:
            row.ratio = ours / figure
        if goal is not None:
            row.goal = f"<= {goal:g}"
            compared = row.ratio if peer else figure
            row.met = None if compared is None else compared <= goal
        return row

    def lines(self):
        yield f"{self.title:<48}{self.unit:>12}{'of theirs':>11}{'goal':>10}"
        for row in self.rows:
            figure = "" if row.figure is None else f"{row.figure:,.{self.digits}f}"
            ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
            met = {True: "met", False: "MISSED", None: ""}[row.met]
            yield f"  {row.name:<46}{figure:>12}{ratio:>11}{row.goal or '':>10}  {met:<7} {row.note}".rstrip()

    def __str__(self):
        return "\n".join(self.lines())

    def to_json(self):
        return {"title": self.title, "unit": self.unit, "rows": [dataclasses.asdict(row) for row in self.rows]}


def seconds_of(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
