"""GPT-2's tokens beside tiktoken's and HuggingFace tokenizers', which this test installs, on mixed text."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata
import unittest

from support import BUILD, ROOT, fixture

PACKAGES = ["tiktoken==0.14.0", "tokenizers==0.23.3"]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "exprun" / "test_tokenizers"
TIMEOUT = 900
UNCACHED = {**os.environ, "TIKTOKEN_CACHE_DIR": ""}  # else tiktoken copies the vocabulary into TMPDIR, for good

# Reads documents, writes tokens as uint32.
PEER = r"""
import array, json, sys
which, folder, source, target = sys.argv[1:]
documents = [json.loads(line)["text"] for line in open(source, encoding="utf-8")]
if which == "tiktoken":
    import tiktoken
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
    ranks = data_gym_to_mergeable_bpe_ranks(folder + "/vocab.bpe", folder + "/encoder.json")
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    coder = tiktoken.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})
    encoded = map(coder.encode_ordinary, documents)
else:
    from tokenizers import Tokenizer, models, pre_tokenizers
    coder = Tokenizer(models.BPE.from_file(folder + "/encoder.json", folder + "/vocab.bpe"))
    coder.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    encoded = (one.ids for one in coder.encode_batch(documents))
tokens = array.array("I")
for one in encoded:
    tokens.extend(one)
tokens.tofile(open(target, "wb"))
"""


def peers_python():
    """A Python that has the packages, made once; None where they cannot be had."""
    python = CACHE / "bin" / "python"
    if not (CACHE / "complete").exists():
        steps = [[sys.executable, "-m", "venv", "--clear", CACHE], [python, "-m", "pip", "install", "-q", *PACKAGES]]
        for step in steps:
            if subprocess.run(step, capture_output=True, timeout=TIMEOUT).returncode:
                return None
        (CACHE / "complete").touch()
    return python


def hard_documents(generator):
    """Every character once beside letters, numbers and spaces; and pieces at random."""
    every = [chr(code) for code in range(1, 0x110000) if not 0xD800 <= code <= 0xDFFF]
    known = [character for character in every if unicodedata.category(character) not in ("Cn", "Co")]
    for start in range(0, len(known), 2000):
        yield "".join(f"a{character}1{character}! {character}{character} " for character in known[start:start + 2000])
    pieces = [" ", "  ", "\n", "\t", "\r\n", "\u00a0", "\u3000", "\u2028", "\u180e", "'s", "'S", "'ll", "'l", "\u2019s",
              "I'm", "x", "\u00e9", "e\u0301", "\u4e2d\u6587", "\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea",
              "42", "\u0663", "\u00bd", "...", "==", "\0", "<|endoftext|>", " " * 50, "a" * 40]
    for _ in range(400):
        yield "".join(generator.choices(pieces, k=500))


class Agreement(unittest.TestCase):
    SIZE = 4_000_000  # characters

    def documents(self, folder):
        documents = list(hard_documents(random.Random(1)))
        texts = [fixture(self, f"data/{name}").read_text(encoding="utf-8")
                 for name in ("wikitext2_valid.txt", "tinyshakespeare.txt", "alpaca_format.json", "hellaswag_val_250.jsonl")]
        texts += [file.read_text(encoding="utf-8") for file in sorted(ROOT.rglob("*.cpp"))[:300]]
        size, number = sum(map(len, documents)), 0
        while size < self.SIZE:  # whole texts, then again from other places
            text = texts[number % len(texts)][number // len(texts) * 7:]
            documents += [text[start:start + 50_000] for start in range(0, len(text), 50_000)]
            size, number = size + len(text), number + 1
        with open(folder / "documents.jsonl", "w", encoding="utf-8") as file:
            for document in documents:
                file.write(json.dumps({"text": document}) + "\n")
        return documents

    def test_same_tokens(self):
        vocabulary = fixture(self, "data/vocab.bpe").resolve().parent
        python = peers_python()
        if python is None:
            self.skipTest("tiktoken and tokenizers cannot be installed")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.documents(folder)
            subprocess.run([BUILD / "exprun", "data", "prepare", "path=documents.jsonl", "tokenizer=gpt2",
                            f"vocabulary={vocabulary}", "validation_fraction=0.0", "end_of_text=none", "--out", "made"],
                           cwd=folder, check=True, capture_output=True, timeout=TIMEOUT)
            shard = (folder / "made/train_000000.bin").read_bytes()
            ours = struct.unpack(f"<{len(shard) // 2 - 512}H", shard[1024:])
            for which in ("tiktoken", "tokenizers"):
                target = folder / which
                subprocess.run([python, "-c", PEER, which, vocabulary, folder / "documents.jsonl", target], check=True,
                               timeout=TIMEOUT, env=UNCACHED)
                found = target.read_bytes()
                theirs = struct.unpack(f"<{len(found) // 4}I", found)
                first = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)
                self.assertIsNone(first, f"{which}: token {first}: {ours[first or 0:][:8]} {theirs[first or 0:][:8]}")
                self.assertEqual(len(ours), len(theirs), which)


if __name__ == "__main__":
    unittest.main()
