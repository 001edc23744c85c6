"""Training steps of exprun and of PyTorch: the same model, weights, batches and optimizer."""
import contextlib
import json
import pathlib
import statistics

from contest import Failed, Table, Worker, alternate, ran
from machine import ROOT
from peers import torch_python

WARM_UP = 3  # steps: kernels are chosen and compiled, memory is touched for the first time
MOST_STEPS = 40  # of a round
EAGER, FUSED, COMPILED = "PyTorch eager, AdamW", "PyTorch eager, fused AdamW", "PyTorch compiled, fused AdamW"
BF16_EAGER, BF16_COMPILED = "PyTorch eager, bf16 autocast", "PyTorch compiled, bf16 autocast"
TORCH = {EAGER: [], FUSED: ["--optimizer", "fused"], COMPILED: ["--optimizer", "fused", "--compile"],
         BF16_EAGER: ["--optimizer", "fused", "--bf16"], BF16_COMPILED: ["--optimizer", "fused", "--compile", "--bf16"]}
OURS, OURS_BF16 = "exprun", "exprun, bf16"
OURS_CHECKPOINTED = "exprun, checkpoint_activations"
ADAMW = {"type": "adamw", "lr": 1e-3, "betas": [0.9, 0.99], "weight_decay": 0.1, "max_grad_norm": 1.0}
MODERN = {"bias": False, "position": {"type": "rotary"}, "tie_embeddings": False}
RECORD_8 = {"max_grad_norm": 0.0, "groups": {
    "embedding": {"match": ["token_embedding.*"], "type": "adam", "lr": 0.3, "betas": [0.9, 0.95]},
    "head": {"match": ["head.*"], "type": "adam", "lr": 0.002, "betas": [0.9, 0.95]},
    "matrices": {"match": ["blocks.*"], "type": "muon", "lr": 0.02, "momentum": 0.95, "newton_schulz_steps": 5,
                 "newton_schulz_dtype": "fp32"}}}


def size(layers, heads, width, context, vocabulary, **more):
    return {"num_layers": layers, "num_heads": heads, "hidden_size": width, "context_length": context,
            "vocab_size": vocabulary, **more}


class Case:
    """`goals`: the most that our step may take of a contestant's, by instruction set."""

    def __init__(self, title, sequences, model, optimizer=None, goals=None, peers=(EAGER, FUSED, COMPILED), bf16=(),
                 checkpointed=False):
        self.title, self.bf16 = title, bf16
        self.peers = (OURS_CHECKPOINTED, *peers) if checkpointed else peers
        self.tables = {"model": {"type": "gpt", **model}, "batch": {"sequences": sequences}, "optimizer": optimizer or ADAMW}
        self.goals = {EAGER: 1.05, **(goals or {})}

    def goals_on(self, instructions):
        return {name: goal.get(instructions) if isinstance(goal, dict) else goal for name, goal in self.goals.items()}


def context_case(context):
    return Case(f"context {context:,}, {4096 // context} sequences, width 256", 4096 // context,
                size(2, 4, 256, context, 256, bias=False), peers=(EAGER, FUSED), checkpointed=context == 1024)


MODERN_GOAL = {"avx512": 0.67, "avx2": 0.87}
CASES = {
    "char": Case("character model, 12 x 64", 12, size(4, 4, 128, 64, 65, bias=False),
                 goals={EAGER: {"avx512": 0.53, "avx2": 0.77}}, bf16={EAGER: 0.4, BF16_COMPILED: None}),
    "gpt2": Case("GPT-2 124M, 4 x 256", 4, size(12, 12, 768, 256, 50304),
                 goals={EAGER: {"avx512": 0.48, "avx2": 0.87}, COMPILED: {"avx512": None, "avx2": 0.87}},
                 bf16={BF16_EAGER: None, BF16_COMPILED: 0.625}, checkpointed=True),
    "llama": Case("Llama-like, 8 heads on 2, 4 x 256", 4,
                  size(4, 8, 512, 256, 8192, num_key_value_heads=2, feed_forward_size=1408, activation="swiglu",
                       norm={"type": "rms_norm"}, **MODERN), goals={EAGER: MODERN_GOAL}),
    "record8": Case("record 8's small twin, 16 x 64", 16,
                    size(4, 2, 128, 64, 65, qk_norm=True, query_key_value="separate", embedding_norm=True,
                         activation="relu_squared", norm={"type": "rms_norm", "weight": False, "eps": 2**-23},
                         initialization={"scheme": "pytorch", "zero": ["*.output_projection.*", "*.down_projection.*", "head.*"]},
                         **MODERN), RECORD_8, {EAGER: MODERN_GOAL}),
    **{f"context{context}": context_case(context) for context in (256, 1024, 4096)},
}


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)


def recipe(tables, compute):
    tables = {"run": {"steps": 1_000_000, "name": "bench"}, **tables, "precision": {"compute": compute},
              "dataset": {"type": "token_shards", "train": "tokens.bin", "format": "raw_uint16"},
              "schedule": {"type": "constant"}}
    return "".join(f"{name} = {toml(table)}\n" for name, table in tables.items())


def cpp_on_this_machine():
    """Text that is on every machine that builds exprun: headers of LibTorch."""
    libtorch = ran([ROOT / "tools/setup/libtorch"]).strip()
    return b"".join(header.read_bytes() for header in sorted(pathlib.Path(libtorch, "include/ATen/core").glob("*.h")))


def write_tokens(file, vocabulary):
    """Its bytes as tokens."""
    file.write_bytes(b"".join((byte % vocabulary).to_bytes(2, "little") for byte in cpp_on_this_machine()))


class Contest:
    """The contestants of a case as processes that live as long as this."""

    def __init__(self, case, machine, folder, build):
        self.case, self.machine, self.folder, self.build = case, machine, folder, build
        self.workers = {}
        (folder / "case.json").write_text(json.dumps(case.tables))
        write_tokens(folder / "tokens.bin", case.tables["model"]["vocab_size"])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for worker in self.workers.values():
            worker.end()

    def command(self, name):
        """Ours first: it draws the weights that the others begin with."""
        if name in (OURS, OURS_BF16, OURS_CHECKPOINTED):
            tables, compute = self.case.tables, "bf16" if name == OURS_BF16 else "fp32"
            if name == OURS_CHECKPOINTED:
                tables = {**tables, "model": {**tables["model"], "checkpoint_activations": True}}
            file = self.folder / f"{name.replace(', ', '_')}.toml"
            file.write_text(recipe(tables, compute))
            # GOMP_SPINCOUNT: what exprun gives its trainer (runner/control/launch/trainer_program.cpp). Kernels are chosen anew.
            return ([self.build / "step_speed", file, "tokens.bin", "weights.safetensors"],
                    {"GOMP_SPINCOUNT": "5000", "XDG_CACHE_HOME": str(self.folder / "cache")})
        return ([torch_python(), ROOT / "tools/bench/gpt_torch.py", "case.json", "tokens.bin",
                 "--weights", "weights.safetensors", *TORCH[name]],
                # One cache an instruction set: code that was compiled for another one must not be taken.
                {"TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor")})

    def start(self, name):
        command, environment = self.command(name)
        log = self.folder / f"{len(self.workers)}.log"
        worker = Worker(command, {**self.machine.environment, **environment}, log, cwd=self.folder)
        self.workers[name] = worker
        worker.answer()
        return worker.ask(f"steps {WARM_UP}")

    def race(self, names, rounds, seconds):
        """{name: the answers of all rounds, the warm-up first, or Failed}, all with the same number of steps."""
        warm = alternate({name: lambda name=name: self.start(name) for name in names}, 1)
        slowest = max((answer[0]["milliseconds"][-1] for answer in warm.values() if not isinstance(answer, Failed)), default=1)
        steps = min(MOST_STEPS, max(1, round(1000 * seconds / slowest)))
        alive = [name for name, answer in warm.items() if not isinstance(answer, Failed)]
        found = alternate({name: lambda name=name: self.workers[name].ask(f"steps {steps}") for name in alive}, rounds)
        return {name: answer if isinstance(answer, Failed) else found[name] if isinstance(found[name], Failed)
                else answer + found[name] for name, answer in warm.items()}


def medians(found):
    """Milliseconds a step: of the rounds' medians the median."""
    return {name: rounds if isinstance(rounds, Failed)
            else statistics.median(statistics.median(answer["milliseconds"]) for answer in rounds[1:])
            for name, rounds in found.items()}


def peaks(found):
    return {name: rounds if isinstance(rounds, Failed) else max(answer["peak_bytes"] for answer in rounds[1:]) / 2**20
            for name, rounds in found.items()}


def notes_of_losses(found):
    """How far each contestant's losses are from the first one's."""
    losses = {name: [loss for answer in rounds for loss in answer["losses"]]
              for name, rounds in found.items() if not isinstance(rounds, Failed)}
    if not losses:
        return {}
    first = next(iter(losses.values()))
    apart = {name: max(abs(a - b) for a, b in zip(first, other)) for name, other in losses.items() if other is not first}
    return {name: f"losses within {distance:.0e}" for name, distance in apart.items()}


def race_tables(case, names, goals, machine, options, what):
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(options.temporary()))
        contest = stack.enter_context(Contest(case, machine, folder, options.build))
        found = contest.race(names, options.rounds, options.seconds)
    yield Table(f"training step, {what}", "ms", medians(found), goals, notes_of_losses(found))
    yield Table(f"memory of the step, {what}", "MiB", peaks(found), {EAGER: 0.7} if names[0] == OURS else {}, digits=0)


def tables(machine, options):
    for name in options.cases or CASES:
        case = CASES[name]
        yield from race_tables(case, (OURS, *case.peers), case.goals_on(machine.instructions), machine, options, case.title)
        if case.bf16 and machine.bf16:
            yield from race_tables(case, (OURS_BF16, *case.bf16), case.bf16, machine, options, f"{case.title}, bf16")
