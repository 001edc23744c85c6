"""What logging a step of 15 scalars costs a training loop: exprun beside MLflow, Trackio, Aim, W&B offline, TensorBoard.

Each runs in a process and a folder of its own, one after another; this file is also the program of that process.
"""
import json
import os
import pathlib
import resource
import sys
import time

from contest import Failed, Table, alternate, ran

SCALARS = 15
STEPS = {"mlflow": 200, "mlflow_async": 1000, "trackio": 2000, "aim": 500, "wandb": 2000, "tensorboard": 5000}
ENVIRONMENT = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "AIM_DISABLE_TELEMETRY": "1", "HF_HUB_OFFLINE": "1",
               "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1"}


def start_mlflow(folder, synchronous=True):
    import mlflow
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.start_run()
    return lambda step, row: mlflow.log_metrics(row, step=step, synchronous=synchronous), mlflow.end_run


def start_mlflow_async(folder):
    return start_mlflow(folder, synchronous=False)


def start_trackio(folder):
    os.environ["TRACKIO_DIR"] = str(folder)
    import trackio
    trackio.init(project="bench", embed=False)
    return lambda step, row: trackio.log(row, step=step), trackio.finish


def start_aim(folder):
    import aim
    run = aim.Run(repo=str(folder), system_tracking_interval=None, log_system_params=False)

    def log(step, row):
        for name, value in row.items():
            run.track(value, name=name, step=step)
    return log, run.close


def start_wandb(folder):
    import wandb
    run = wandb.init(project="bench", dir=str(folder), settings=wandb.Settings(console="off", x_disable_stats=True))
    return lambda step, row: run.log(row, step=step), run.finish


def start_tensorboard(folder):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
    writer = EventFileWriter(str(folder))

    def log(step, row):
        for name, value in row.items():
            summary = Summary(value=[Summary.Value(tag=name, simple_value=value)])
            writer.add_event(Event(step=step, wall_time=time.time(), summary=summary))
    return log, writer.close


PEERS = {name.removeprefix("start_"): value for name, value in globals().copy().items() if name.startswith("start_")}


def processor_seconds():
    return sum(usage.ru_utime + usage.ru_stime
               for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def bytes_below(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(name, folder):
    """Prints a line of JSON: in a process of its own."""
    log, end = PEERS[name](folder)
    row = {f"series_{i}": 0.123456789 * i for i in range(SCALARS)}
    log(0, row)
    before, micros = processor_seconds(), []
    for step in range(1, STEPS[name] + 1):
        row = {key: value + 0.001 for key, value in row.items()}
        start = time.perf_counter()
        log(step, row)
        micros.append(1e6 * (time.perf_counter() - start))
    end()
    micros.sort()
    print("\n" + json.dumps({"p50": micros[len(micros) // 2], "p99": micros[len(micros) * 99 // 100],
                             "all": 1e6 * (processor_seconds() - before) / len(micros),
                             "bytes": bytes_below(folder) / len(micros) / SCALARS}))


PACKAGES = {"mlflow": "mlflow", "mlflow_async": "mlflow", "trackio": "trackio", "aim": "aim", "wandb": "wandb",
            "tensorboard": "tensorboard"}
OURS = "exprun"


def peer(name, options):
    def figures():
        from peers import python_with
        python = python_with(PACKAGES[name], PACKAGES[name])
        with options.temporary() as folder:
            return json.loads(ran([python, __file__, name, folder], ENVIRONMENT, cwd=folder).strip().splitlines()[-1])
    return figures


def own_figures(options):
    """What store_cost prints, one figure a line."""
    said = dict(line.rsplit(": ", 1) for line in ran([options.build / "store_cost"]).splitlines() if ": " in line)
    try:
        value = {name: float(said[name].split()[0]) for name in ("push, p50", "push, p99", "all threads, a scalar", "size of a scalar")}
    except (KeyError, ValueError) as error:
        raise Failed(f"store_cost did not say {error}") from None
    return {"p50": value["push, p50"], "p99": value["push, p99"], "all": SCALARS * value["all threads, a scalar"],
            "bytes": value["size of a scalar"]}


def tables(machine, options):
    del machine
    contestants = {OURS: lambda: own_figures(options), **{name: peer(name, options) for name in PEERS}}
    found = {name: values if isinstance(values, Failed) else values[0] for name, values in alternate(contestants, 1).items()}

    def column(kind):
        return {name: figures if isinstance(figures, Failed) else figures[kind] for name, figures in found.items()}

    yield Table(f"logging {SCALARS} scalars, the training thread's median", "us", column("p50"))
    yield Table(f"logging {SCALARS} scalars, processor time of all threads", "us", column("all"), {OURS: float(SCALARS)})
    yield Table("a scalar on the disk", "bytes", column("bytes"), digits=1)


if __name__ == "__main__":
    measure(sys.argv[1], pathlib.Path(sys.argv[2]))
