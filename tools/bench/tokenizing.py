"""GPT-2's BPE beside tiktoken and HuggingFace's tokenizers, on the same documents: from a text in memory to tokens in memory."""
import functools
import json
import os
import pathlib

from contest import Failed, Table, alternate, median, ran
from machine import ROOT
from peers import python_with
from training import cpp_on_this_machine

DOCUMENT = 65536  # characters
LEAST_BYTES = 20_000_000  # to be long enough to measure
PEER = r"""
import json, resource, sys, time
which, threads, folder, file, size = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5])
text = open(file, encoding="utf-8", newline="").read()
documents = [text[i:i + size] for i in range(0, len(text), size)]
if which == "tiktoken":
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
    ranks = data_gym_to_mergeable_bpe_ranks(folder + "/vocab.bpe", folder + "/encoder.json")
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    coder = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})
    encode = lambda: sum(map(len, coder.encode_ordinary_batch(documents, num_threads=threads)))
else:
    from tokenizers import Tokenizer, models, pre_tokenizers
    coder = Tokenizer(models.BPE.from_file(folder + "/encoder.json", folder + "/vocab.bpe"))
    coder.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    encode = lambda: sum(len(one.ids) for one in coder.encode_batch(documents))
start = time.perf_counter()
tokens = encode()
print(json.dumps({"tokens": tokens, "seconds": time.perf_counter() - start,
                  "peak_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


def vocabulary_folder(options):
    folder = options.vocabulary or pathlib.Path(os.environ.get("EXPRUN_FIXTURES", ROOT.parent / "shared")) / "data"
    if not (folder / "vocab.bpe").exists():
        raise Failed("no vocab.bpe: give its folder with --vocabulary")
    return folder


def write_text(file, options):
    text = b"".join(path.read_bytes() for path in options.text) if options.text else cpp_on_this_machine()
    text = text.decode(errors="replace").encode()
    file.write_bytes(text * -(-LEAST_BYTES // len(text)))
    return file.stat().st_size


def encoders(machine, options, file):
    """What each contestant found: tokens, seconds, peak memory."""
    threads = str(machine.threads)
    environment = {**machine.environment, "RAYON_NUM_THREADS": threads, "TOKENIZERS_PARALLELISM": str(machine.threads > 1).lower()}

    def ours():
        return json.loads(ran([options.build / "tokenize_speed", vocabulary_folder(options), threads, str(DOCUMENT), file]))

    def peer(package):
        python = python_with(package, package)
        return json.loads(ran([python, "-c", PEER, package, threads, vocabulary_folder(options), file, str(DOCUMENT)], environment))

    return {"exprun": ours, **{name: functools.partial(peer, name) for name in ("tiktoken", "tokenizers")}}


def tables(machine, options):
    with options.temporary() as name:
        file = pathlib.Path(name) / "text.txt"
        megabytes = write_text(file, options) / 1e6
        found = alternate(encoders(machine, options, file), options.rounds)

    def column(figure):
        return {name: values if isinstance(values, Failed) else median([figure(each) for each in values])
                for name, values in found.items()}

    tokens = {each["tokens"] for values in found.values() if not isinstance(values, Failed) for each in values}
    yield Table(f"GPT-2's BPE, {megabytes:.0f} MB", "s", column(lambda each: each["seconds"]), {"tiktoken": 1 / 3},
                {"exprun": "all the same tokens" if len(tokens) == 1 else f"DIFFERENT NUMBERS OF TOKENS: {sorted(tokens)}"})
    yield Table("its memory", "MiB", column(lambda each: each["peak_kib"] / 1024), digits=0)
