"""How a training step grows with batch, context, width, layers and threads, beside what its arithmetic alone must take."""
import math
import pathlib
import statistics

from machine import Machine
from training import OURS, Case, Contest, size

BASE = {"batch": 16, "context": 128, "width": 256, "layers": 4}
AXES = {"batch": (4, 8, 16, 32, 64), "context": (64, 128, 256, 512, 1024), "width": (128, 256, 512, 1024), "layers": (1, 2, 4, 8)}
STEPS = 8
VOCABULARY = 256


def flops_of(point):
    """Products of matrices only, forward and backward; attention's are halved by the causal mask."""
    batch, context, width, layers = (point[axis] for axis in BASE)
    weights = layers * 12 * width**2 + VOCABULARY * width
    return batch * context * (6 * weights + layers * 6 * context * width)


def measured(point, machine, options):
    """Milliseconds of a step and of the products in it, at the speed that the largest one reaches alone."""
    case = Case("", point["batch"], size(point["layers"], point["width"] // 64, point["width"], point["context"], VOCABULARY, bias=False))
    with options.temporary() as folder, Contest(case, machine, pathlib.Path(folder), options.build) as contest:
        contest.start(OURS)
        worker = contest.workers[OURS]
        step = statistics.median(worker.ask(f"steps {STEPS}")["milliseconds"])
        rate = worker.ask(f"gemm {point['batch'] * point['context']} {point['width']} {4 * point['width']}")["flops"]
    return step, 1000 * flops_of(point) / rate


def exponent(values, times):
    """The slope of the least-squares line through the logarithms."""
    xs, ys = [math.log(value) for value in values], [math.log(time) for time in times]
    x, y = statistics.fmean(xs), statistics.fmean(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys)) / sum((a - x) ** 2 for a in xs)


class Growth:
    """Printed as a table of one axis."""

    def __init__(self, axis, values, rows):
        self.axis, self.rows = axis, [{"value": value, "step_ms": step, "floor_ms": floor, "ratio": step / floor}
                                      for value, (step, floor) in zip(values, rows)]
        self.exponents = {name: exponent(values, times) for name, times in zip(("step", "arithmetic"), zip(*rows))}

    def __str__(self):
        lines = [f"{'a step by ' + self.axis:<48}{'ms':>12}{'arithmetic':>12}{'ratio':>8}"]
        lines += [f"  {row['value']:<46}{row['step_ms']:12.2f}{row['floor_ms']:12.2f}{row['ratio']:8.2f}" for row in self.rows]
        lines.append("  grows with the power" + "".join(f"{value:{width}.2f}" for value, width in zip(self.exponents.values(), (40, 12))))
        return "\n".join(lines)

    def to_json(self):
        return {"title": f"a step by {self.axis}", "unit": "ms", "rows": self.rows, "exponents": self.exponents}


def tables(machine, options):
    for axis, values in AXES.items():
        rows = [measured({**BASE, axis: value}, machine, options) for value in values]
        yield Growth(axis, values, rows)
    counts = [count for count in (1, 2, 4, 8, 16, 32) if count <= machine.threads]
    if len(counts) > 1:
        rows = [measured(BASE, Machine(machine.instructions if machine.limited else None, count), options) for count in counts]
        yield Growth("threads", counts, rows)
