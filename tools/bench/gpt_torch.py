"""A GPT in plain PyTorch: what tools/bench/step_speed compares with.

Eager or compiled, fp32, torch.optim.AdamW. Weights and batches come from safetensors and raw token files, so that the losses
can be held against exprun's. Written as anyone would write it: nothing is tuned for or against PyTorch.
"""
import argparse
import json
import math
import mmap
import struct
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

DTYPES = {"F32": torch.float32, "I64": torch.int64}


def load_safetensors(path):
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    tensors = {}
    for name, info in header.items():
        if name == "__metadata__":
            continue
        begin, end = info["data_offsets"]
        flat = torch.frombuffer(data, dtype=torch.uint8, offset=8 + size + begin, count=end - begin)
        tensors[name] = flat.view(DTYPES[info["dtype"]]).reshape(info["shape"]).clone()
    return tensors


class LayerNorm(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width, bias=bias)
        self.c_proj = nn.Linear(width, width, bias=bias)

    def forward(self, x):  # (B, T, C)
        B, T, C = x.shape
        q, k, v = (
            part.view(B, T, self.heads, C // self.heads).transpose(1, 2) for part in self.c_attn(x).split(C, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class MLP(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.c_fc = nn.Linear(width, 4 * width, bias=bias)
        self.c_proj = nn.Linear(4 * width, width, bias=bias)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, width, heads, bias):
        super().__init__()
        self.ln_1 = LayerNorm(width, bias)
        self.attn = Attention(width, heads, bias)
        self.ln_2 = LayerNorm(width, bias)
        self.mlp = MLP(width, bias)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, args):
        super().__init__()
        width = args["n_embd"]
        self.transformer = nn.ModuleDict(
            {
                "wte": nn.Embedding(args["vocab_size"], width),
                "wpe": nn.Embedding(args["block_size"], width),
                "h": nn.ModuleList(Block(width, args["n_head"], args["bias"]) for _ in range(args["n_layer"])),
                "ln_f": LayerNorm(width, args["bias"]),
            }
        )
        self.lm_head = nn.Linear(width, args["vocab_size"], bias=False)
        self.lm_head.weight = self.transformer["wte"].weight

    def forward(self, tokens, targets):
        t = self.transformer
        x = t["wte"](tokens) + t["wpe"](torch.arange(tokens.shape[1]))
        for block in t["h"]:
            x = block(x)
        logits = self.lm_head(t["ln_f"](x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def rate(k, config):
    peak, low, warmup = config["learning_rate"], config["min_lr"], config["warmup_iters"]
    if k < warmup:
        return peak * (k + 1) / (warmup + 1)
    ratio = (k - warmup) / (config["lr_decay_iters"] - warmup)
    return low + 0.5 * (1 + math.cos(math.pi * ratio)) * (peak - low)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parity", required=True, help="folder with curve.json, init.safetensors, order.safetensors")
    parser.add_argument("--tokens", required=True, help="raw uint16 tokens that the offsets point into")
    parser.add_argument("--optimizer", choices=["default", "fused"], default="default")
    parser.add_argument("--compile", action="store_true", help="torch.compile, as nanoGPT does by default")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()

    torch.set_num_threads(options.threads)
    curve = json.load(open(f"{options.parity}/curve.json"))
    config = curve["config"]
    model = GPT(curve["model_args"])
    weights = load_safetensors(f"{options.parity}/init.safetensors")
    weights["lm_head.weight"] = weights["transformer.wte.weight"]
    model.load_state_dict(weights)
    if options.compile:
        model = torch.compile(model)
    order = load_safetensors(f"{options.parity}/order.safetensors")["train_step"]
    raw = open(options.tokens, "rb").read()
    text = torch.frombuffer(bytearray(raw), dtype=torch.uint16).to(torch.int64)

    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": config["weight_decay"]}, {"params": others, "weight_decay": 0.0}],
        betas=(config["beta1"], config["beta2"]),
        **({"fused": True} if options.optimizer == "fused" else {}),
    )
    length = curve["model_args"]["block_size"]
    losses, milliseconds = [], []
    for k in range(options.steps):
        begin = time.perf_counter()
        x = torch.stack([text[o : o + length] for o in order[k].tolist()])
        y = torch.stack([text[o + 1 : o + 1 + length] for o in order[k].tolist()])
        for group in optimizer.param_groups:
            group["lr"] = rate(k, config)
        loss = model(x, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config["grad_clip"])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        milliseconds.append(1000 * (time.perf_counter() - begin))
    print(json.dumps({"torch": torch.__version__, "milliseconds": milliseconds, "losses": losses}))


if __name__ == "__main__":
    main()
