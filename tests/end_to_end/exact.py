"""A run killed and resumed must end as one that was left alone: its recipe, the kills, the comparison."""
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import time

from support import ExprunTest, children, tensors

# Big enough for a step to take some ten milliseconds, so that kills land inside steps, evaluations,
# samples and checkpoints. The kernels are measured, not fixed: a resume must take the same ones.
RECIPE = """\
[run]
name = "exact"
steps = 120
seed = 7
threads = 1

[model]
type = "gpt"
num_layers = 2
num_heads = 4
hidden_size = 128
context_length = 64
dropout = 0.1

[dataset]
type = "text"
path = "text.txt"
tokenizer = "byte"

[batch]
sequences = 8
micro_batch = 4

[optimizer]
type = "adamw"
lr = 1e-3

[schedule]
type = "cosine"
warmup = "5 steps"

[evaluation.val_loss]
every = "8 steps"

[evaluation.sample]
every = "16 steps"
tokens = 20

[checkpoint]
every = "3 steps"
"""
# Of a linear layer; other kernels are ATen's and ours.
PRODUCTS = ("forward", "input_gradient", "weight_gradient")
FILES = ("model.safetensors", "optimizer.safetensors")
FINE_TUNED = RECIPE.replace('type = "text"\npath = "text.txt"\ntokenizer = "byte"',
                            'type = "instruction"\npath = "examples.jsonl"\ntokenizer = "byte"\ntemplate = "alpaca"') \
                   .replace("context_length = 64", "context_length = 256").replace("hidden_size = 128", "hidden_size = 64")
AVERAGED_ADAPTER = ("model.lora={rank=4, dropout=0.1}", "run.ema=0.9", "evaluation.sample.prompt=Add")


def other_kernel(key, kernel):
    """Of the two that can compute what a key of kernels.json says."""
    if kernel != "aten":
        return "aten"
    return "onednn" if key.split()[0] in PRODUCTS else "exprun"


class ExactTest(ExprunTest):
    """Trains to the end, then again with kills, and compares. What a failure needs to be repeated is printed."""
    recipe, files = RECIPE, FILES

    def fine_tune(self):
        """From here on: instruction data."""
        self.write("examples.jsonl", "".join(json.dumps({"instruction": f"Add {n} and {n}. " * (1 + n % 5), "output": str(2 * n)}) + "\n"
                                             for n in range(300)))
        self.recipe, self.files = FINE_TUNED, (*FILES, "average.safetensors")

    def compare_with_killed(self, moments, victims, *words):
        """moments: for each kill whether it is soon after the start, or else after a new checkpoint."""
        self.write("exact.toml", self.recipe)
        self.words = ("exact.toml", *words)
        self.exprun(*self.words)
        whole = self.final()
        (self.folder / "runs").rename(self.folder / "whole")

        seed = int(os.environ.get("SEED") or random.SystemRandom().randrange(10**6))
        print(f"SEED={seed}", end=" ", flush=True)
        self.random = random.Random(seed)
        self.swapped = False
        for attempt, at_start in enumerate(moments, start=1):
            self.live_and_die(attempt, at_start, self.random.choice(victims))
            self.swap_cached_kernels()
        self.assertTrue(self.swapped)
        self.exprun(*self.words)
        self.assertEqual(self.rows("SELECT count(*), max(attempt) FROM runs"), [(1, len(moments) + 1)])
        self.assert_same(whole, self.final())

    def live_and_die(self, attempt, at_start, victims):
        before = self.newest_checkpoint()
        process = self.start(*self.words)
        self.wait_until(lambda: self.attempt() == attempt, process)
        if not at_start:
            self.wait_until(lambda: self.newest_checkpoint() > before, process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=self.random.uniform(0, 0.05))
        self.wait_until(lambda: children(process.pid), process)
        trainers = children(process.pid)
        for pid in {"launcher": [process.pid], "trainer": trainers, "both": [*trainers, process.pid],
                    "one rank": self.random.sample(trainers, 1)}[victims]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.finish(process)
        while any(pathlib.Path(f"/proc/{pid}/exe").exists() for pid in trainers):  # it saves first
            time.sleep(0.02)

    def attempt(self):
        if not (self.folder / "runs/exprun.db").exists():
            return 0
        with contextlib.suppress(Exception):  # the store is just being made
            return self.rows("SELECT attempt FROM runs")[0][0]
        return 0

    def newest_checkpoint(self):
        found = (self.folder / "runs").glob("*/checkpoints/step_????????/MANIFEST.json")
        return max((int(path.parent.name.split("_")[1]) for path in found), default=-1)

    def swap_cached_kernels(self):
        """Turns round, once, the cached kernels that the run has chosen among: it must keep its own."""
        chosen = next((self.folder / "runs").glob("*/kernels.json"), None)
        if self.swapped or not chosen or self.newest_checkpoint() < 0:
            return
        own = json.loads(chosen.read_text())
        cache = self.folder / "cache/exprun/kernels.json"
        machines = json.loads(cache.read_text())
        for choices in machines.values():
            for key in choices.keys() & own.keys():
                choices[key] = other_kernel(key, choices[key])
                self.swapped = True
        cache.write_text(json.dumps(machines))

    def final(self):
        """The final checkpoint's files, every identity series, every sample."""
        (last,) = self.rows("SELECT last_step FROM runs")[0]
        checkpoint = self.run_folder() / f"checkpoints/step_{last:08d}"
        series = self.rows("SELECT name, step, value FROM metrics JOIN series USING (run, name) "
                           "WHERE NOT timing ORDER BY name, step")
        self.assertEqual(len([row for row in series if row[0] == "train/loss"]), last)
        self.assertEqual(self.rows("SELECT name, step FROM metrics GROUP BY name, step HAVING count(*) > 1"), [])
        samples = {path.name: path.read_bytes() for path in (self.run_folder() / "samples").iterdir()}
        return ([checkpoint / file for file in self.files], series, samples,
                [(checkpoint / file).read_bytes() for file in self.files])

    def assert_same(self, whole, again):
        for before, after in zip(whole[0], again[0]):
            before = self.folder / "whole" / before.relative_to(self.folder / "runs")
            self.assertEqual(differing(tensors(before), tensors(after)), [], after.name)
        self.assertTrue(whole[3] == again[3], "the tensors are equal, but not the files")
        self.assertEqual(whole[1], again[1])
        self.assertEqual(whole[2], again[2])


def differing(whole, again):
    """Names of tensors that are not equal in every byte, or are in one of the two only."""
    return sorted(name for name in whole.keys() | again.keys() if whole.get(name) != again.get(name))
