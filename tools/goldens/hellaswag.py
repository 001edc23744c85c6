#!/usr/bin/env python3
"""Writes tests/golden/hellaswag.json: HellaSwag's per-ending losses by plain PyTorch.

usage: python tools/goldens/hellaswag.py [FIXTURES]     with a Python that has torch 2.11

The model is the small GPT-2 of FIXTURES/parity/hf_gpt2, in plain functions; the tokens are bytes, so that no tokenizer
is needed. A row is the context, then " " and an ending, cut at its start to what the model can see; its loss is the
sum over the ending's tokens. Every row is computed by itself, without padding.
"""
import json
import pathlib
import struct
import sys

import torch
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = 24


def load(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        raw = bytearray(data[8 + size + begin:8 + size + end])
        tensors[name] = torch.frombuffer(raw, dtype=torch.float32).view(entry["shape"])
    return tensors


class Gpt2:
    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.w = load(folder / "model.safetensors")

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"],
                            self.config["layer_norm_epsilon"])

    def linear(self, x, name):
        return x @ self.w[name + ".weight"] + self.w[name + ".bias"]

    def logits(self, tokens):
        length, heads = len(tokens), self.config["n_head"]
        x = self.w["transformer.wte.weight"][tokens] + self.w["transformer.wpe.weight"][:length]
        for i in range(self.config["n_layer"]):
            block = f"transformer.h.{i}."
            q, k, v = (part.view(length, heads, -1).transpose(0, 1) for part in
                       self.linear(self.norm(x, block + "ln_1"), block + "attn.c_attn").chunk(3, -1))
            scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
            scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf)
            mixed = (scores.softmax(-1) @ v).transpose(0, 1).reshape(length, -1)
            x = x + self.linear(mixed, block + "attn.c_proj")
            up = F.gelu(self.linear(self.norm(x, block + "ln_2"), block + "mlp.c_fc"), approximate="tanh")
            x = x + self.linear(up, block + "mlp.c_proj")
        return self.norm(x, "transformer.ln_f") @ self.w["transformer.wte.weight"].T


def ending_loss(model, context, ending):
    row = list(context.encode()) + list((" " + ending).encode())
    longest = model.config["n_positions"]
    counted = min(len((" " + ending).encode()), min(len(row) - 1, longest))
    row = torch.tensor(row[-longest - 1:])
    losses = F.cross_entropy(model.logits(row[:-1]), row[1:], reduction="none")
    return losses[-counted:].double().sum().item(), counted


def main():
    torch.set_num_threads(1)
    fixtures = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared"
    model = Gpt2(fixtures / "parity" / "hf_gpt2" / "model")
    lines = (fixtures / "data" / "hellaswag_val_250.jsonl").read_text().splitlines()[:EXAMPLES]
    examples = []
    for line in lines:
        example = json.loads(line)
        scores = [ending_loss(model, example["ctx"], ending) for ending in example["endings"]]
        examples.append({"sums": [loss for loss, _ in scores], "tokens": [count for _, count in scores]})
    text = json.dumps({"weights": "parity/hf_gpt2", "tokens": "bytes", "examples": examples}, indent=1)
    (ROOT / "tests" / "golden" / "hellaswag.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
