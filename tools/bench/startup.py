"""How long a user waits for exprun: for its help, for a check, for the first training step."""
import contextlib
import json
import os
import pathlib
import sqlite3
import time
import tomllib

from contest import Table, Worker, alternate, median, ran, seconds_of
from machine import ROOT
from peers import python_with, torch_python
from training import write_tokens

QUICKSTART = "recipes/quickstart.toml"
FIRST_STEP = """
SELECT attempt.started_ms + metric.time_ms FROM metric JOIN series ON series.id = metric.series
JOIN attempt USING (run) WHERE run = (SELECT max(id) FROM run) AND name = 'train/loss' AND step = 1"""
HYDRA_APPLICATION = """
import hydra

@hydra.main(version_base=None, config_path=None)
def main(config):
    pass

main()
"""


class Exprun:
    """exprun with a store and caches of the benchmark's own."""

    def __init__(self, build, folder, environment):
        self.program, self.store = build / "exprun", folder / "runs"
        self.environment = {**environment, "EXPRUN_STORE": str(self.store), "XDG_CACHE_HOME": str(folder / "cache")}

    def run(self, *words):
        return ran([self.program, *words], self.environment, cwd=ROOT)

    def first_step(self):
        """Milliseconds from the command to the time that the first step bears in the store, of a new run on prepared data:
        with the loading of LibTorch, the evaluation before the first step, and the step."""
        start = time.time()
        self.run(QUICKSTART, "steps=2", "schedule.warmup='1 steps'", "--new")
        with contextlib.closing(sqlite3.connect(self.store / "exprun.db")) as store:
            (at,) = store.execute(FIRST_STEP).fetchone()
        return at - 1000 * start


def quickstart_in_pytorch(folder):
    """What tools/bench/gpt_torch.py takes: the quickstart's model, batch and optimizer."""
    recipe = tomllib.loads((ROOT / QUICKSTART).read_text())
    recipe["model"]["vocab_size"] = 256
    optimizer = {"betas": [0.9, 0.95], "weight_decay": 0.1, **recipe["optimizer"]}
    (folder / "case.json").write_text(json.dumps({"model": recipe["model"], "batch": recipe["batch"], "optimizer": optimizer}))
    write_tokens(folder / "tokens.bin", 256)


def pytorch_first_step(folder, environment):
    def measure():
        start = time.perf_counter()
        worker = Worker([torch_python(), ROOT / "tools/bench/gpt_torch.py", "case.json", "tokens.bin"], environment,
                        folder / "pytorch.log", cwd=folder)
        try:
            worker.answer()
            worker.ask("steps 1")
        finally:
            worker.end()
        return 1000 * (time.perf_counter() - start)
    return measure


def hydra(folder, environment, *words):
    """Runs an application of Hydra that does nothing."""
    application = folder / "application.py"
    application.write_text(HYDRA_APPLICATION)
    return lambda: ran([python_with("hydra-core", "hydra"), application, *words], environment, cwd=folder)


def milliseconds(action):
    def measure():
        return 1000 * seconds_of(action)
    return measure


def timed(contestants, rounds):
    alternate(contestants, 1)  # caches are filled, programs are in memory
    return {name: median(found) for name, found in alternate(contestants, rounds).items()}


def tables(machine, options):
    with options.temporary() as name:
        folder = pathlib.Path(name)
        exprun = Exprun(options.build, folder, machine.environment)
        yield Table("a command's start", "ms", timed({
            "exprun --help": milliseconds(lambda: exprun.run("--help")),
            "exprun check --quick": milliseconds(lambda: exprun.run("check", "--quick", QUICKSTART)),
            "exprun check": milliseconds(lambda: exprun.run("check", QUICKSTART)),
            "Hydra, an application that prints its configuration": milliseconds(hydra(folder, {}, "--cfg", "job")),
        }, options.rounds), digits=1)
        quickstart_in_pytorch(folder)
        yield Table("from Enter to the first training step", "ms", timed({
            "exprun, quickstart, prepared data": exprun.first_step,
            "PyTorch eager, the same model": pytorch_first_step(folder, machine.environment),
        }, options.rounds), {"exprun, quickstart, prepared data": 600}, digits=0)
