"""Writes a run of GPT-2's size in the form of the recorded character run, so that tools/bench/step_speed takes either.

usage: gpt2_run.py FOLDER    (needs torch)

124M parameters with biases and a tied head, normal 0.02, 4 sequences of 256 tokens a step: what two cores hold. The
text stays the recorded run's, so few of the 50,304 tokens occur: the arithmetic is the same for any of them.
"""
import json
import pathlib
import struct
import sys

import torch

ARGS = {"n_layer": 12, "n_head": 12, "n_embd": 768, "block_size": 256, "bias": True, "vocab_size": 50304, "dropout": 0.0}
CONFIG = {"batch_size": 4, "gradient_accumulation_steps": 1, "learning_rate": 6e-4, "min_lr": 6e-5, "decay_lr": True,
          "warmup_iters": 100, "lr_decay_iters": 2000, "weight_decay": 0.1, "beta1": 0.9, "beta2": 0.95,
          "grad_clip": 1.0, "eval_interval": 1000, "eval_iters": 1}
TYPES = {torch.float32: "F32", torch.int64: "I64"}


def shapes():
    width, hidden = ARGS["n_embd"], 4 * ARGS["n_embd"]
    yield "transformer.wte.weight", (ARGS["vocab_size"], width)
    yield "transformer.wpe.weight", (ARGS["block_size"], width)
    for layer in range(ARGS["n_layer"]):
        block = f"transformer.h.{layer}."
        for norm in ("ln_1", "ln_2"):
            yield from ((block + norm + part, (width,)) for part in (".weight", ".bias"))
        for name, out, into in (("attn.c_attn", 3 * width, width), ("attn.c_proj", width, width),
                                ("mlp.c_fc", hidden, width), ("mlp.c_proj", width, hidden)):
            yield block + name + ".weight", (out, into)
            yield block + name + ".bias", (out,)
    yield from (("transformer.ln_f" + part, (width,)) for part in (".weight", ".bias"))


def initial(name, shape):
    if len(shape) > 1:
        return 0.02 * torch.randn(shape)
    return torch.zeros(shape) if name.endswith("bias") else torch.ones(shape)


def save_safetensors(path, tensors):
    header, at = {}, 0
    for name, tensor in tensors.items():
        end = at + tensor.numel() * tensor.element_size()
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(tensor.numpy().tobytes())


def main():
    folder, steps = pathlib.Path(sys.argv[1]), CONFIG["lr_decay_iters"]
    torch.manual_seed(1337)
    batch = CONFIG["batch_size"]
    json.dump({"config": CONFIG, "model_args": ARGS, "loss": [0.0] * steps}, open(folder / "curve.json", "w"))
    save_safetensors(folder / "init.safetensors", {name: initial(name, shape) for name, shape in shapes()})
    save_safetensors(folder / "order.safetensors",
                     {"train_step": torch.randint(1_000_000, (steps, batch)),
                      "eval_val": torch.randint(100_000, (3, CONFIG["eval_iters"], batch))})


if __name__ == "__main__":
    main()
