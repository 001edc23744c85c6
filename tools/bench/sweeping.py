"""What a sweep costs beyond its training, a trial."""
import pathlib

from contest import Failed, Table, alternate, median, ran, seconds_of
from peers import python_with
from startup import QUICKSTART, Exprun, hydra

POINTS = 1000
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


def tables(machine, options):
    with options.temporary() as name:
        folder = pathlib.Path(name)
        exprun = Exprun(options.build, folder, machine.environment)
        launch = hydra(folder, {}, "--multirun", "+x=range(0,100)")
        found = alternate({
            f"exprun sweep --dry-run of {POINTS:,} points":
                lambda: 1000 / POINTS * seconds_of(lambda: exprun.run("sweep", QUICKSTART, f"run.seed=range({POINTS})", "--dry-run")),
            "Hydra's basic launcher, a function that does nothing": lambda: 1000 / 100 * seconds_of(launch),
            "Optuna in SQLite, ask and tell": optuna(folder, 100),
        }, options.rounds)
        yield Table("planning: one point of a sweep", "ms", {each: median(values) for each, values in found.items()},
                    notes={"exprun sweep --dry-run of 1,000 points": "loads, checks and hashes each"})
