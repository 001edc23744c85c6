"""What a sweep costs beyond its training, a trial; and what it gains by running trials side by side."""
import contextlib
import itertools
import os
import pathlib
import pty
import re
import signal
import sqlite3
import subprocess
import time

from contest import Failed, Table, alternate, how_it_ended, median, ran, seconds_of
from machine import ROOT
from peers import python_with
from startup import QUICKSTART, Exprun, hydra

POINTS = 1000
MANY_POINTS = 10_000
TRIALS = 16
SCHEDULED = (8, 64)  # trials of the two sweeps that tell what is paid for each trial from what is paid once
SCHEDULER = "exprun sweep's own process"
# A model that is too small for two cores.
SMALL = ("num_layers=2", "hidden_size=64", "num_heads=2", "context_length=64", "sequences=8", "steps=300",
         "evaluation.val_loss.every='100 steps'", "evaluation.val_loss.tokens=1024", "~evaluation.sample")
TINY = ("num_layers=1", "hidden_size=16", "num_heads=1", "context_length=16", "sequences=2", "steps=2",
        "schedule.warmup='1 steps'", "evaluation.val_loss.every='2 steps'", "evaluation.val_loss.tokens=32",
        "~evaluation.sample", "threads=1", "deterministic=true")
# Two trials that do not end while their table is shown.
WATCHED = ("run.seed=1,2", *(word for word in TINY if not word.startswith(("steps=", "evaluation."))), "steps=10000000",
           "evaluation.val_loss.every='2000 steps'", "evaluation.val_loss.tokens=32", "-j", "2")
WATCHED_SECONDS = 15
LR_SWEEP = ROOT / "recipes/lr_sweep.toml"
TRAINING_SECONDS = """
SELECT sum(last - first) / 1000.0 FROM (SELECT min(time_ms) AS first, max(time_ms) AS last FROM metric
JOIN series ON series.id = metric.series WHERE name = 'train/loss' GROUP BY run)"""
OPTUNA = """
import sys, time
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(storage="sqlite:///" + sys.argv[1])
count = int(sys.argv[2])
begin = time.perf_counter()
for _ in range(count):
    trial = study.ask()
    study.tell(trial, trial.suggest_float("lr", 1e-5, 1e-2, log=True))
print(1000 * (time.perf_counter() - begin) / count)
"""


def optuna(folder, count):
    numbers = iter(range(1000))

    def measure():
        file = folder / f"optuna{next(numbers)}.db"
        return float(ran([python_with("optuna", "optuna"), "-c", OPTUNA, file, str(count)]))
    return measure


def nanoseconds_of(process):
    """What its threads have used of a core, those that have ended too; 0 when it has ended itself."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        behind_name = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        used = sum(int(ticks) for ticks in behind_name[11:13])
        return used * 10**9 // os.sysconf("SC_CLK_TCK")
    return 0


def read_for(shown, seconds, until=None):
    """What a terminal shows within that time, or up to a text."""
    text, late = b"", time.monotonic() + seconds
    while time.monotonic() < late and not (until and re.search(until, text)):
        with contextlib.suppress(OSError):  # nobody writes to it any more
            text += shown.read(1 << 16) or b""
        time.sleep(0.1)
    return text


class Sweeps:
    """Sweeps in stores of their own, with prepared data and measured kernels in common."""

    def __init__(self, build, folder, environment):
        self.build, self.folder, self.environment = build, folder, environment
        self.numbers = itertools.count()

    def exprun(self):
        exprun = Exprun(self.build, self.folder, self.environment)
        exprun.store = self.folder / f"runs{next(self.numbers)}"
        exprun.environment |= {"EXPRUN_STORE": str(exprun.store)}
        exprun.run("data", "prepare", QUICKSTART)
        return exprun

    def seconds(self, *words):
        exprun = self.exprun()
        return seconds_of(lambda: exprun.run("sweep", QUICKSTART, f"run.seed=range({TRIALS})", *SMALL, *words))

    def seconds_beside_training(self):
        """Of a trial: LibTorch's start, data, the evaluations at both ends and the checkpoint are in it."""
        exprun = self.exprun()
        whole = seconds_of(lambda: exprun.run("sweep", QUICKSTART, f"run.seed=range({TRIALS})", *TINY))
        with contextlib.closing(sqlite3.connect(exprun.store / "exprun.db")) as store:
            (training,) = store.execute(TRAINING_SECONDS).fetchone()
        return (whole - training) / TRIALS

    def own_milliseconds(self, trials):
        """On a core, of the scheduler's own process: its trials' processes are not in it."""
        exprun = self.exprun()
        words = ["sweep", QUICKSTART, f"run.seed=range({trials})", *TINY]
        used = 0
        with subprocess.Popen([exprun.program, *words], env={**os.environ, **exprun.environment}, cwd=ROOT,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                used = nanoseconds_of(process) or used
                time.sleep(0.005)
        if process.returncode:
            raise Failed(how_it_ended(process.returncode))
        return used / 1e6

    def live_table_percent(self):
        """Of a core: all that the scheduler does at a terminal while its trials run."""
        exprun = self.exprun()
        terminal, end = pty.openpty()
        with contextlib.closing(os.fdopen(terminal, "rb", buffering=0)) as shown, \
                subprocess.Popen([exprun.program, "sweep", QUICKSTART, *WATCHED], cwd=ROOT, stderr=end, stdout=subprocess.DEVNULL,
                                 env={**os.environ, **exprun.environment, "TERM": "xterm"}) as process:
            os.close(end)
            os.set_blocking(terminal, False)
            text = read_for(shown, 60, until=rb"2 running, ETA")
            begin, before = time.monotonic(), nanoseconds_of(process)
            more = read_for(shown, WATCHED_SECONDS)
            used = (nanoseconds_of(process) - before) / 1e9 / (time.monotonic() - begin)
            process.send_signal(signal.SIGINT)
            read_for(shown, 60, until=rb"the same command continues it")
        if b"running, ETA" not in text or not more:
            raise Failed("the table was not shown")
        return 100 * used

    def scheduler_milliseconds(self):
        """A trial, and once a sweep: the line through a short and a long one."""
        short, long = (self.own_milliseconds(trials) for trials in SCHEDULED)
        trial = (long - short) / (SCHEDULED[1] - SCHEDULED[0])
        return trial, short - SCHEDULED[0] * trial


def tables(machine, options):
    with options.temporary() as name:
        folder = pathlib.Path(name)
        exprun = Exprun(options.build, folder, machine.environment)
        sweeps = Sweeps(options.build, folder, machine.environment)
        found = alternate({"exprun sweep -j 2": lambda: sweeps.seconds("-j", "2"),
                           "exprun sweep -j 1": sweeps.seconds}, options.rounds)
        yield Table(f"{TRIALS} small trials side by side", "s", {each: median(values) for each, values in found.items()},
                    goals={"exprun sweep -j 1": 0.75})
        found = alternate({"exprun sweep, beside its training": sweeps.seconds_beside_training}, options.rounds)
        yield Table("a trial of a sweep", "s", {each: median(values) for each, values in found.items()},
                    goals={"exprun sweep, beside its training": 0.4})
        found = alternate({SCHEDULER: sweeps.scheduler_milliseconds,
                           "Optuna in SQLite, ask and tell": optuna(folder, 100)}, options.rounds)
        once = ""
        if not isinstance(found[SCHEDULER], Failed):
            found[SCHEDULER], starts = zip(*found[SCHEDULER])
            once = f"and {median(starts):.0f} ms once: start, recipe, a look at the data's files"
        yield Table("scheduling: one trial of a sweep", "ms", {each: median(values) for each, values in found.items()},
                    goals={SCHEDULER: 2}, notes={SCHEDULER: once})
        launch = hydra(folder, {}, "--multirun", "+x=range(0,100)")
        found = alternate({
            f"exprun sweep --dry-run of {POINTS:,} points":
                lambda: 1000 / POINTS * seconds_of(lambda: exprun.run("sweep", QUICKSTART, f"run.seed=range({POINTS})", "--dry-run")),
            "Hydra's basic launcher, a function that does nothing": lambda: 1000 / 100 * seconds_of(launch),
            "Optuna in SQLite, ask and tell": optuna(folder, 100),
        }, options.rounds)
        yield Table("planning: one point of a sweep", "ms", {each: median(values) for each, values in found.items()},
                    notes={"exprun sweep --dry-run of 1,000 points": "loads, checks and hashes each"})
        planned = {"exprun sweep --dry-run": lambda: seconds_of(
            lambda: exprun.run("sweep", QUICKSTART, f"run.seed=range({MANY_POINTS})", "--dry-run"))}
        yield whole(f"planning: {MANY_POINTS:,} points", "s", planned, 2, options)
        yield whole("the live table of a sweep", "% of a core", {"exprun sweep, two trials": sweeps.live_table_percent}, 1, options)
        example = {"exprun sweep": lambda: seconds_of(lambda: sweeps.exprun().run("sweep", LR_SWEEP))}
        yield whole("recipes/lr_sweep.toml", "s", example, 120, options)


def whole(title, unit, measured, goal, options):
    """A table of one figure, with the most that it may be."""
    found = alternate(measured, options.rounds)
    return Table(title, unit, {each: median(values) for each, values in found.items()}, goals=dict.fromkeys(measured, goal))
