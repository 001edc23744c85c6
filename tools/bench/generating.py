"""Generating text with GPT-2 small's shape, beside transformers' generate: the same random weights, greedy, one text."""
import json
import os
import pathlib
import shutil
import subprocess
import time

from contest import Failed, Table, Worker, alternate, last_line, median, ran
from peers import python_with, torch_python
from tokenizing import vocabulary_folder

PROMPT = "The quick brown fox jumps over the lazy dog and"
MAKE = r"""
import sys, torch, transformers
torch.manual_seed(1)
config = transformers.GPT2Config(n_layer=int(sys.argv[2]), bos_token_id=None, eos_token_id=None, initializer_range=0.1)
transformers.GPT2LMHeadModel(config).to(getattr(torch, sys.argv[3])).save_pretrained(sys.argv[1])
"""
PEER = r"""
import json, sys, time
import torch, transformers
folder, threads, prompt = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(threads)
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="auto").eval()
tokenizer = transformers.GPT2Tokenizer(folder + "/vocab.json", folder + "/merges.txt")
ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
def seconds(tokens):
    start = time.perf_counter()
    found = model.generate(ids, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False)[0]
    return time.perf_counter() - start, found
seconds(8)
for line in sys.stdin:
    few, many = json.loads(line)
    with torch.inference_mode():
        (short, _), (long, found) = seconds(few), seconds(many)
    print(json.dumps({"seconds": (long - short) / (many - few), "text": tokenizer.decode(found)}), flush=True)
"""


def packages():
    """Of transformers, to stand beside the torch of LibTorch's version. Raises Failed."""
    python = python_with("transformers==5.23.0", "transformers")
    return ran([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()


def make_model(folder, environment, layers, dtype, vocabulary):
    ran([torch_python(), "-c", MAKE, folder, layers, dtype], environment)
    for file, theirs in (("encoder.json", "vocab.json"), ("vocab.bpe", "merges.txt")):
        shutil.copyfile(vocabulary / file, folder / theirs)


def ours(machine, options, folder, few, many):
    """Between the first and the last token that appear, so that loading is no part of it."""
    def seconds(tokens):
        command = [options.build / "exprun", "sample", folder, "--prompt", PROMPT, "temperature=0", f"tokens={tokens}"]
        with subprocess.Popen([str(word) for word in command], env={**os.environ, **machine.environment},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            text, first = b"", None
            while piece := os.read(process.stdout.fileno(), 65536):
                first = first or time.perf_counter()
                text += piece
            passed = time.perf_counter() - first if first else 0
            errors = process.stderr.read().decode(errors="replace")
        if process.returncode:
            raise Failed(last_line(errors))
        return passed, text.decode(errors="replace")

    (short, _), (long, text) = seconds(few), seconds(many)
    return {"seconds": (long - short) / (many - few), "text": text.rstrip("\n")}


def table(machine, options, dtype, name):
    """In the format of the weights, on both sides. bf16 rounds in another order, and so may take another token."""
    few, many = 8, max(24, int(8 * options.seconds))
    with options.temporary() as place:
        folder = pathlib.Path(place) / "model"
        environment = {**machine.environment, "PYTHONPATH": packages(), "HF_HUB_OFFLINE": "1"}
        make_model(folder, environment, 12, dtype, vocabulary_folder(options))
        worker = Worker([torch_python(), "-c", PEER, folder, machine.threads, PROMPT], environment, pathlib.Path(place) / "log")
        try:
            found = alternate({"exprun": lambda: ours(machine, options, folder, few, many),
                               "transformers generate": lambda: worker.ask(json.dumps([few, many]))}, options.rounds)
        finally:
            worker.end()
    texts = {each["text"] for values in found.values() if not isinstance(values, Failed) for each in values}
    figures = {name: values if isinstance(values, Failed) else 1e3 * median([each["seconds"] for each in values])
               for name, values in found.items()}
    return Table(f"generating with GPT-2 small's shape, {name}", "ms/token", figures, {"transformers generate": 0.5},
                 {"exprun": "the same text" if len(texts) == 1 else "DIFFERENT TEXTS"})


def tables(machine, options):
    yield table(machine, options, "float32", "fp32")
    if machine.bf16:
        yield table(machine, options, "bfloat16", "bf16")
