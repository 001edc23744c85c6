"""What it takes to look at runs: exprun beside MLflow, Aim, Trackio and TensorBoard, which load runs of the same size.

A figure of exprun is that of a whole process, from its start to its last character. Of a peer it is the call alone: the
import of its Python, a second and more, is not counted. This file is also the program that fills a peer and asks it.
"""
import contextlib
import json
import os
import pathlib
import pty
import signal
import sqlite3
import subprocess
import sys
import time

RUNS, PARAMETERS, SERIES, POINTS = 1_000, 20, 10, 10
MANY_RUNS = 10_000
CURVES, CURVE_POINTS = 4, 100_000
PAGE_POINTS = 100  # of each series on the page
WATCHED_SECONDS = 15
RECIPE = """\
run = { name = "watched", steps = 10_000_000, deterministic = true, threads = 1 }
model = { type = "gpt", num_layers = 1, num_heads = 2, hidden_size = 16, context_length = 16 }
dataset = { type = "text", path = "text.txt", tokenizer = "char" }
batch = { sequences = 4 }
optimizer = { type = "adamw", lr = 1e-2 }
schedule = { type = "constant" }
"""
ENVIRONMENT = {"AIM_DISABLE_TELEMETRY": "1", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1"}


def parameters_of(run):
    return {f"table.key_{key}": run if key == 3 else 7 for key in range(PARAMETERS)}


def curve(run, points):
    return [3 + 8 / (step + 1) ** 0.5 + run / 10 for step in range(1, points + 1)]


class Mlflow:
    def __init__(self, folder):
        import mlflow
        self.uri = f"sqlite:///{folder}/mlflow.db"
        mlflow.set_tracking_uri(self.uri)
        self.mlflow = mlflow

    def fill(self, runs, series, points):
        from mlflow.entities import Metric, Param
        client = self.mlflow.MlflowClient(self.uri)
        experiment = client.create_experiment("bench")
        for number in range(runs):
            run = client.create_run(experiment, run_name=f"run-{number}").info.run_id
            values = curve(number, points)
            metrics = [Metric(name, value, step, step) for name in series for step, value in enumerate(values, 1)]
            client.log_batch(run, params=[Param(key, str(value)) for key, value in parameters_of(number).items()])
            for at in range(0, len(metrics), 1000):
                client.log_batch(run, metrics=metrics[at:at + 1000])
            client.set_terminated(run)

    def table(self):
        frame = self.mlflow.search_runs(experiment_names=["bench"], max_results=50_000)
        return len(frame), sum(column.startswith("params.") for column in frame.columns)

    def curves(self):
        client = self.mlflow.MlflowClient(self.uri)
        runs = client.search_runs([client.get_experiment_by_name("bench").experiment_id])
        return sum(len(client.get_metric_history(run.info.run_id, "train/loss")) for run in runs)


class Aim:
    def __init__(self, folder):
        import aim
        self.aim, self.folder = aim, str(folder)

    def fill(self, runs, series, points):
        aim = self.aim
        for number in range(runs):
            run = aim.Run(repo=self.folder, system_tracking_interval=None, log_system_params=False)
            run["parameters"] = parameters_of(number)
            for step, value in enumerate(curve(number, points), 1):
                for name in series:
                    run.track(value, name=name, step=step)
            run.close()
        # What its server does meanwhile: without it the runs cannot be read.
        aim_program = pathlib.Path(sys.executable).with_name("aim")
        subprocess.run([aim_program, "storage", "--repo", self.folder, "reindex", "--yes"], check=True)

    def table(self):
        runs = list(self.aim.Repo.from_path(self.folder).iter_runs())
        # What its own list of runs reads: the parameters, and of each series its last value.
        parameters = [run.get("parameters", resolve_objects=True) for run in runs]
        last = [run.collect_sequence_info(("metric",)) for run in runs]
        assert len(last) == len(runs)
        return len(runs), len(parameters[0])

    def curves(self):
        from aim.storage.context import Context
        curves = [run.get_metric("train/loss", Context({})) for run in self.aim.Repo.from_path(self.folder).iter_runs()]
        return sum(len(curve.values.sparse_numpy()[1]) for curve in curves)


class Trackio:
    def __init__(self, folder):
        os.environ["TRACKIO_DIR"] = str(folder)
        from trackio.sqlite_storage import SQLiteStorage
        self.storage = SQLiteStorage

    def fill(self, runs, series, points):
        for number in range(runs):
            rows = [dict.fromkeys(series, value) for value in curve(number, points)]
            self.storage.bulk_log("bench", f"run-{number}", rows, steps=list(range(1, points + 1)), config=parameters_of(number))

    def table(self):
        configurations = self.storage.get_all_run_configs("bench")
        runs = self.storage.get_runs("bench")
        last = [self.storage.get_logs("bench", run)[-1] for run in runs]
        return len(last), len(next(iter(configurations.values())))

    def curves(self):
        return sum(len(self.storage.get_logs("bench", run)) for run in self.storage.get_runs("bench"))


class TensorBoard:
    def __init__(self, folder):
        self.folder = str(folder)

    def fill(self, runs, series, points):
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
        for number in range(runs):
            writer = EventFileWriter(f"{self.folder}/run-{number}")
            for step, value in enumerate(curve(number, points), 1):
                for name in series:
                    summary = Summary(value=[Summary.Value(tag=name, simple_value=value)])
                    writer.add_event(Event(step=step, wall_time=step, summary=summary))
            writer.close()

    def load(self):
        from tensorboard.backend.event_processing.event_multiplexer import EventMultiplexer
        loaded = EventMultiplexer(size_guidance={"scalars": 0, "tensors": 0}).AddRunsFromDirectory(self.folder)
        return loaded.Reload()

    def table(self):
        loaded = self.load()
        last = [loaded.Scalars(run, tag)[-1] for run, tags in loaded.Runs().items() for tag in tags["scalars"]]
        return len(last) // SERIES, None

    def curves(self):
        loaded = self.load()
        return sum(len(loaded.Scalars(run, "train/loss")) for run in loaded.Runs())


PEERS = {"MLflow": Mlflow, "Aim": Aim, "Trackio": Trackio, "TensorBoard": TensorBoard}
CALLS = {"MLflow": "search_runs", "Aim": "parameters and last values", "Trackio": "configurations and logs",
         "TensorBoard": "EventMultiplexer, without parameters"}
SIZES = {"table": (RUNS, [f"series_{i}" for i in range(SERIES)], POINTS), "curves": (CURVES, ["train/loss"], CURVE_POINTS)}
WHOLE = {"table": {(RUNS, PARAMETERS), (RUNS, None)}, "curves": {CURVES * CURVE_POINTS}}


def act(what, name, kind, folder):
    """In a process of its own, of the peers' Python: fills the peer, or prints how long a load took, in milliseconds."""
    peer = PEERS[name](folder)
    if what == "fill":
        return peer.fill(*SIZES[kind])
    start = time.perf_counter()
    loaded = getattr(peer, kind)()
    print(f"\n{1000 * (time.perf_counter() - start)}")
    assert loaded in WHOLE[kind], loaded


def load_of(name, kind, folder):
    """Fills the peer when it is first measured. Raises Failed."""
    from contest import ran
    from peers import python_with, say
    package = name.lower()
    home = pathlib.Path(folder) / f"{package}-{kind}"

    def measure():
        command = [python_with(package, package), __file__]
        if not home.exists():
            home.mkdir()
            say(f"filling {name} ({kind})")
            ran([*command, "fill", name, kind, home], ENVIRONMENT, timeout=1800, cwd=home)
        return float(ran([*command, "load", name, kind, home], ENVIRONMENT, timeout=1800, cwd=home).split()[-1])
    return measure


def made_store(build, environment, folder, *words):
    """The environment of exprun with a store that store_scale makes. Raises Failed."""
    from contest import ran
    ran([build / "store_scale", *words], environment)
    return {**environment, "EXPRUN_STORE": str(folder)}


def watching(build, folder, environment):
    """Percent of a core that `exprun watch` takes, and how many steps a second the run made meanwhile."""
    from contest import Failed, ran
    (folder / "watched.toml").write_text(RECIPE)
    (folder / "text.txt").write_text("".join(f"{n} little ships went out to sea.\n" for n in range(400)))
    run = subprocess.Popen([build / "exprun", "watched.toml", "-q"], cwd=folder, env={**os.environ, **environment},
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        step = step_of(folder / "watched/exprun.db")
        master, terminal = pty.openpty()
        watch = subprocess.Popen([build / "exprun", "watch", "@last"], cwd=folder, stdin=terminal, stdout=terminal,
                                 env={**os.environ, **environment, "TERM": "xterm"}, stderr=subprocess.DEVNULL)
        os.close(terminal)
        start, shown = time.monotonic(), 0
        while (left := start + WATCHED_SECONDS - time.monotonic()) > 0:
            os.set_blocking(master, False)
            with contextlib.suppress(BlockingIOError):
                shown += len(os.read(master, 1 << 16))
            time.sleep(min(left, 0.1))
        steps = step_of(folder / "watched/exprun.db") - step
        os.write(master, b"q")
        _, status, usage = os.wait4(watch.pid, 0)
        took = time.monotonic() - start
        watch.returncode = os.waitstatus_to_exitcode(status)
        os.close(master)
        if watch.returncode or not shown:
            raise Failed("watch showed nothing")
        return 100 * (usage.ru_utime + usage.ru_stime) / took, steps / took
    finally:
        run.send_signal(signal.SIGINT)
        run.wait()


def step_of(database):
    late = time.monotonic() + 120
    while time.monotonic() < late:
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as store:
            (step,) = store.execute("SELECT max(last_step) FROM runs").fetchone()
            if step:
                return step
        time.sleep(0.1)
    raise TimeoutError("the run makes no step")


def tables(machine, options):
    from contest import Failed, Table, alternate, ran
    from startup import milliseconds, timed
    build, environment = options.build, machine.environment
    with options.temporary() as name:
        folder = pathlib.Path(name)

        def exprun(store, *words):
            return milliseconds(lambda: ran([build / "exprun", *words], store))

        few, many = (made_store(build, environment, folder / str(runs), folder / str(runs), str(runs)) for runs in (RUNS, MANY_RUNS))
        yield Table(f"a table of {RUNS:,} runs with {PARAMETERS} parameters and {SERIES} series", "ms", timed({
            "exprun report": exprun(few, "report"),
            **{f"{peer}: {call}": load_of(peer, "table", folder) for peer, call in CALLS.items()},
        }, options.rounds), {"exprun report": 20}, digits=1)
        yield Table(f"a table of {MANY_RUNS:,} runs", "ms", timed({
            "exprun report": exprun(many, "report"), "exprun ls": exprun(many, "ls", "--limit", str(MANY_RUNS)),
        }, options.rounds), {"exprun report": 250}, digits=0)
        curves = made_store(build, environment, folder / "curves", "--curves", folder / "curves")
        plot = ["plot", *(f"curve-{run}" for run in "abcd")]
        yield Table(f"{CURVES} curves of {CURVE_POINTS:,} points", "ms", timed({
            "exprun plot": exprun(curves, *plot),
            **{f"{peer}, all points": load_of(peer, "curves", folder) for peer in PEERS},
        }, options.rounds), {"exprun plot": 60}, digits=1)
        yield Table("the same curves as a file", "ms", timed({
            kind.upper(): exprun(curves, *plot, f"--{kind}", folder / f"curves.{kind}") for kind in ("svg", "png")
        }, options.rounds), digits=0)
        page = folder / "page.html"
        store = made_store(build, environment, folder / "page", folder / "page", str(RUNS), str(PAGE_POINTS))
        title = f"the page of {RUNS:,} runs with {SERIES} series of {PAGE_POINTS} points"
        yield Table(title, "ms", timed({"exprun report --html": exprun(store, "report", "--html", page)}, options.rounds),
                    {"exprun report --html": 500}, digits=0)
        yield Table("its size", "MB", {"exprun report --html": page.stat().st_size / 1e6}, {"exprun report --html": 5})
        watched = {**environment, "EXPRUN_STORE": str(folder / "watched"), "XDG_CACHE_HOME": str(folder / "cache")}
        found = alternate({"exprun watch": lambda: watching(build, folder, watched)}, 1)["exprun watch"]
        share, speed = (found, 0) if isinstance(found, Failed) else found[0]
        yield Table("watching a run", "% of a core", {"exprun watch": share}, {"exprun watch": 2},
                    {"exprun watch": f"{speed:,.0f} steps/s"})


if __name__ == "__main__":
    act(sys.argv[1], sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4]))
