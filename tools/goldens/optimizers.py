#!/usr/bin/env python3
"""Writes tests/golden/optimizers.json: what plain PyTorch makes of 20 given gradients.

usage: python tools/goldens/optimizers.py     with a Python that has torch 2.11

Every optimizer steps the same two tensors, a matrix and a vector, whose gradients are made from the
integers below, so that the test can make the same ones. torch.optim does the work where it has the
optimizer; Lion and Muon are their papers' formulas in a few lines.
"""
import json
import pathlib

import torch

STEPS = 20
OUTPUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "optimizers.json"
SHAPES = {"wide": (4, 6), "tall": (6, 4), "vector": (10,)}


def values(shape, step):
    """sin(i + 3 step) / 2 for the i-th element, as float32: what the test computes too."""
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64) + 3 * step).sin().div(2).float().view(shape)


class Lion:
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, parameters, lr, betas, weight_decay):
        self.parameters, self.lr, self.betas, self.decay = parameters, lr, betas, weight_decay
        self.momentum = [torch.zeros_like(p) for p in parameters]

    def step(self):
        first, second = self.betas
        for p, m in zip(self.parameters, self.momentum):
            update = (first * m + (1 - first) * p.grad).sign()
            p.data -= self.lr * (update + self.decay * p.data)
            m.copy_(second * m + (1 - second) * p.grad)


class Muon:
    """modded-nanogpt's record 8, in float32."""

    def __init__(self, parameters, lr, momentum, nesterov):
        self.parameters, self.lr, self.momentum, self.nesterov = parameters, lr, momentum, nesterov
        self.buffers = [torch.zeros_like(p) for p in parameters]

    @staticmethod
    def orthogonal(g):
        x = g / (g.norm() + 1e-7)
        x = x.T if g.size(0) > g.size(1) else x
        for _ in range(5):
            a = x @ x.T
            b = a @ x
            x = 3.4445 * x - 4.7750 * b + 2.0315 * a @ b
        return x.T if g.size(0) > g.size(1) else x

    def step(self):
        for p, buffer in zip(self.parameters, self.buffers):
            buffer.mul_(self.momentum).add_(p.grad)
            g = p.grad + self.momentum * buffer if self.nesterov else buffer
            p.data -= self.lr * self.orthogonal(g) * max(1, p.size(0) / p.size(1)) ** 0.5


# Recipe keys -> the same in PyTorch.
CASES = {
    "adamw": ({"lr": 1e-2, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.1, "decay": "all"},
              lambda p, k: torch.optim.AdamW(p, lr=k["lr"], betas=k["betas"], eps=k["eps"],
                                             weight_decay=k["weight_decay"])),
    "adam": ({"lr": 1e-2, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1, "decay": "all"},
             lambda p, k: torch.optim.Adam(p, lr=k["lr"], betas=k["betas"], eps=k["eps"],
                                           weight_decay=k["weight_decay"])),
    "sgd": ({"lr": 1e-2, "momentum": 0.0, "weight_decay": 0.0},
            lambda p, k: torch.optim.SGD(p, lr=k["lr"])),
    "sgd momentum": ({"lr": 1e-2, "momentum": 0.9, "weight_decay": 0.1, "decay": "all"},
                     lambda p, k: torch.optim.SGD(p, lr=k["lr"], momentum=k["momentum"],
                                                  weight_decay=k["weight_decay"])),
    "sgd nesterov": ({"lr": 1e-2, "momentum": 0.9, "nesterov": True, "weight_decay": 0.0},
                     lambda p, k: torch.optim.SGD(p, lr=k["lr"], momentum=k["momentum"], nesterov=True)),
    "lion": ({"lr": 1e-2, "betas": [0.9, 0.99], "weight_decay": 0.1, "decay": "all"},
             lambda p, k: Lion(p, k["lr"], k["betas"], k["weight_decay"])),
    "muon": ({"lr": 2e-2, "momentum": 0.95, "newton_schulz_dtype": "fp32"},
             lambda p, k: Muon(p, k["lr"], k["momentum"], True)),
    "muon plain": ({"lr": 2e-2, "momentum": 0.95, "nesterov": False, "newton_schulz_dtype": "fp32"},
                   lambda p, k: Muon(p, k["lr"], k["momentum"], False)),
}


def run(keys, build, names):
    parameters = [torch.nn.Parameter(values(SHAPES[name], 0)) for name in names]
    optimizer = build(parameters, keys)
    for step in range(1, STEPS + 1):
        for parameter in parameters:
            parameter.grad = values(parameter.shape, step)
        optimizer.step()
    return {name: parameter.detach().flatten().tolist() for name, parameter in zip(names, parameters)}


def main():
    torch.set_num_threads(1)
    cases = []
    for title, (keys, build) in CASES.items():
        names = ["wide", "tall"] if title.startswith("muon") else list(SHAPES)
        cases.append({"title": title, "type": title.split()[0], "keys": keys, "final": run(keys, build, names)})
    text = json.dumps({"torch": torch.__version__, "steps": STEPS, "shapes": SHAPES, "cases": cases}, indent=1)
    OUTPUT.write_text(text + "\n")


if __name__ == "__main__":
    main()
