"""A GPT in plain PyTorch: what tools/bench/training.py compares with.

usage: gpt_torch.py CASE TOKENS [--weights FILE] [--optimizer default|fused] [--compile] [--bf16] [--device cpu|cuda]
  CASE     JSON: the tables model, batch and optimizer of a recipe, of which this knows what the benchmarks use
  TOKENS   raw uint16 tokens, read one sequence after another

Weights come from safetensors, so that the losses can be held against exprun's. Written as anyone would write it: nothing
is tuned for or against PyTorch. Each line "steps N" on standard input is answered by a line of JSON.
"""
import argparse
import contextlib
import fnmatch
import json
import mmap
import struct
import sys
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


class RMSNorm(nn.Module):
    def __init__(self, width, weight, eps):
        super().__init__()
        self.width, self.eps = width, eps
        self.weight = nn.Parameter(torch.ones(width)) if weight else None

    def forward(self, x):
        return F.rms_norm(x, (self.width,), self.weight, self.eps)


def make_norm(model):
    norm = model.get("norm", {})
    if norm.get("type", "layer_norm") == "layer_norm":
        return LayerNorm(model["hidden_size"], model.get("bias", True))
    return RMSNorm(model["hidden_size"], norm.get("weight", True), norm.get("eps", 1e-5))


def turned(x, cosine, sine):  # (B, T, H, D): channel i is paired with i + D/2
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cosine + b * sine, b * cosine - a * sine), dim=-1).type_as(x)


class Attention(nn.Module):
    def __init__(self, model):
        super().__init__()
        width, self.heads = model["hidden_size"], model["num_heads"]
        self.key_heads = model.get("num_key_value_heads", self.heads)
        self.head_width = width // self.heads
        self.normed, bias = model.get("qk_norm", False), model.get("bias", True)
        self.eps = model.get("norm", {}).get("eps", 1e-5)
        narrow = self.key_heads * self.head_width
        self.fused = model.get("query_key_value", "fused") == "fused"
        if self.fused:
            self.sizes = (width, narrow, narrow)
            self.query_key_value = nn.Linear(width, width + 2 * narrow, bias=bias)
        else:
            self.query, self.key, self.value = (nn.Linear(width, out, bias=bias) for out in (width, narrow, narrow))
        self.output_projection = nn.Linear(width, width, bias=bias)
        self.rotary = model.get("position", {}).get("type") == "rotary"
        if self.rotary:
            channels = torch.arange(0, self.head_width, 2) / self.head_width
            angles = torch.outer(torch.arange(model["context_length"]), 10000.0**-channels)[None, :, None, :]
            self.register_buffer("cosine", angles.cos(), persistent=False)
            self.register_buffer("sine", angles.sin(), persistent=False)

    def forward(self, x):  # (B, T, C)
        B, T, C = x.shape
        parts = self.query_key_value(x).split(self.sizes, dim=2) if self.fused else (self.query(x), self.key(x), self.value(x))
        q, k, v = (part.view(B, T, -1, self.head_width) for part in parts)
        if self.normed:
            q, k = (F.rms_norm(part, (self.head_width,), eps=self.eps) for part in (q, k))
        if self.rotary:
            q, k = (turned(part, self.cosine[:, :T], self.sine[:, :T]) for part in (q, k))
        y = F.scaled_dot_product_attention(*(part.transpose(1, 2) for part in (q, k, v)), is_causal=True,
                                           enable_gqa=self.key_heads != self.heads)
        return self.output_projection(y.transpose(1, 2).contiguous().view(B, T, C))


class FeedForward(nn.Module):
    def __init__(self, model):
        super().__init__()
        width, bias = model["hidden_size"], model.get("bias", True)
        hidden = model.get("feed_forward_size", 4 * width)
        self.activation = model.get("activation", "gelu")
        self.up_projection = nn.Linear(width, hidden, bias=bias)
        if self.activation == "swiglu":
            self.gate_projection = nn.Linear(width, hidden, bias=bias)
        self.down_projection = nn.Linear(hidden, width, bias=bias)

    def forward(self, x):
        up = self.up_projection(x)
        if self.activation == "swiglu":
            return self.down_projection(F.silu(self.gate_projection(x)) * up)
        if self.activation == "relu_squared":
            return self.down_projection(F.relu(up).square())
        return self.down_projection(F.gelu(up, approximate="tanh" if self.activation == "gelu_tanh" else "none"))


class Block(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.attention_norm, self.attention = make_norm(model), Attention(model)
        self.feed_forward_norm, self.feed_forward = make_norm(model), FeedForward(model)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class GPT(nn.Module):
    def __init__(self, model):
        super().__init__()
        width, vocabulary = model["hidden_size"], model["vocab_size"]
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.learned = model.get("position", {}).get("type", "learned") == "learned"
        if self.learned:
            self.position_embedding = nn.Embedding(model["context_length"], width)
        self.embedding_norm = make_norm(model) if model.get("embedding_norm") else nn.Identity()
        self.blocks = nn.ModuleList(Block(model) for _ in range(model["num_layers"]))
        self.final_norm = make_norm(model)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if model.get("tie_embeddings", True):
            self.head.weight = self.token_embedding.weight

    def forward(self, tokens, targets):
        x = self.token_embedding(tokens)
        if self.learned:
            x = x + self.position_embedding(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.embedding_norm(x)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.final_norm(x)).float()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def orthogonalized(update, steps):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = update / (update.norm() + 1e-7)
    tall = x.size(0) > x.size(1)
    if tall:
        x = x.T
    for _ in range(steps):
        product = x @ x.T
        polynomial = b * product + c * product @ product
        x = a * x + polynomial @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """As modded-nanogpt's, on one process and in fp32."""

    def __init__(self, params, lr, momentum, newton_schulz_steps, compiled):
        super().__init__(params, {"lr": lr, "momentum": momentum, "steps": newton_schulz_steps})
        self.orthogonalized = torch.compile(orthogonalized) if compiled else orthogonalized

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(p)
                buffer = state["momentum_buffer"]
                buffer.mul_(group["momentum"]).add_(p.grad)
                update = self.orthogonalized(p.grad.add(buffer, alpha=group["momentum"]), group["steps"])
                p.add_(update, alpha=-group["lr"] * max(1, p.size(0) / p.size(1)) ** 0.5)


def make_optimizer(table, parameters, options):
    if table["type"] == "muon":
        return Muon([p for _, p in parameters], table["lr"], table["momentum"], table["newton_schulz_steps"], options.compile)
    decay = table.get("weight_decay", 0.0)
    groups = [{"params": [p for _, p in parameters if p.dim() >= 2], "weight_decay": decay},
              {"params": [p for _, p in parameters if p.dim() < 2], "weight_decay": 0.0}]
    make = torch.optim.AdamW if table["type"] == "adamw" else torch.optim.Adam
    return make([group for group in groups if group["params"]], lr=table["lr"], betas=table["betas"],
                **({"fused": True} if options.optimizer == "fused" else {}))


def make_optimizers(table, model, options):
    left, optimizers = list(model.named_parameters()), []
    for group in table.get("groups", {}).values():
        matched = [(name, p) for name, p in left if any(fnmatch.fnmatch(name, glob) for glob in group["match"])]
        left = [(name, p) for name, p in left if all(p is not other for _, other in matched)]
        optimizers.append(make_optimizer(group, matched, options))
    return optimizers + ([make_optimizer(table, left, options)] if left else [])


def resident_bytes(which):
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(which + ":"))


def forget_peak():
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
        file.write("5")


class Contestant:
    def __init__(self, case, options):
        self.before = resident_bytes("VmRSS")
        model = GPT(case["model"])
        if options.weights:
            weights = load_safetensors(options.weights)
            weights.setdefault("head.weight", weights["token_embedding.weight"])
            model.load_state_dict(weights)
            del weights
        self.device = options.device
        model.to(self.device)
        self.max_norm = case["optimizer"].get("max_grad_norm", 1.0)
        self.optimizers = make_optimizers(case["optimizer"], model, options)
        self.parameters = list(model.parameters())
        self.model = torch.compile(model) if options.compile else model
        self.autocast = torch.autocast(self.device, torch.bfloat16, enabled=options.bf16)
        self.length, self.sequences = case["model"]["context_length"], case["batch"]["sequences"]
        self.micro_batch = case["batch"].get("micro_batch", self.sequences)
        with open(options.tokens, "rb") as file:
            self.text = torch.frombuffer(bytearray(file.read()), dtype=torch.uint16)
        self.next = 0

    def batch(self):
        blocks = (len(self.text) - 1) // self.length
        starts = [(self.next * self.sequences + i) % blocks * self.length for i in range(self.sequences)]
        return tuple(torch.stack([self.text[at + shift : at + shift + self.length].long() for at in starts]).to(self.device)
                     for shift in (0, 1))

    def step(self):
        mean = torch.zeros((), device=self.device)
        for x, y in zip(*(part.split(self.micro_batch) for part in self.batch())):
            with self.autocast:
                loss = self.model(x, y) * (len(x) / self.sequences)
            loss.backward()
            mean += loss.detach()
        if self.max_norm:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.max_norm)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.next += 1
        return mean.item()

    def run(self, steps):
        forget_peak()
        losses, milliseconds = [], []
        for _ in range(steps):
            begin = time.perf_counter()
            losses.append(self.step())
            milliseconds.append(1000 * (time.perf_counter() - begin))
        return {"milliseconds": milliseconds, "losses": losses, "peak_bytes": self.peak_bytes()}

    def peak_bytes(self):
        return torch.cuda.max_memory_allocated() if self.device == "cuda" else resident_bytes("VmHWM") - self.before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case")
    parser.add_argument("tokens")
    parser.add_argument("--weights")
    parser.add_argument("--optimizer", choices=["default", "fused"], default="default")
    parser.add_argument("--compile", action="store_true", help="torch.compile, as nanoGPT does by default")
    parser.add_argument("--bf16", action="store_true", help="autocast to bf16")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="on cuda, products in fp32 use TF32")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    with open(options.case, encoding="utf-8") as file:
        contestant = Contestant(json.load(file), options)
    print(json.dumps({"torch": torch.__version__, "instruction_set": torch.backends.cpu.get_cpu_capability(),
                      "threads": torch.get_num_threads()}), flush=True)
    for line in sys.stdin:
        print(json.dumps(contestant.run(int(line.split()[1]))), flush=True)


if __name__ == "__main__":
    main()
