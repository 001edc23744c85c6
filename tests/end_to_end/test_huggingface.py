"""Tokenizers of HuggingFace's kind beside `tokenizers` itself, which test_tokenizers.py installs: this test makes
files of the constructs that real ones have (GPT-2's tokens, other words, added tokens) and compares on hard text."""
import json
import pathlib
import random
import struct
import subprocess
import tempfile
import unicodedata
import unittest

from support import BUILD, fixture
from test_tokenizers import TIMEOUT, hard_documents, peers_python

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + REST
PATTERNS = {
    "llama3": LLAMA3,
    "qwen2": LLAMA3.replace("{1,3}", ""),
    "o200k": rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CONTRACTIONS}?"
             r"|\p{N}{1,3}|" + REST.replace(r"[\r\n]*", r"[\r\n/]*", 1),
    "own": r"\p{Lu}?\p{Ll}+|\d{1,2}|[^\s\p{L}]|\s",  # leaves gaps, which are words
}
END = {"id": 50256, "content": "<|endoftext|>", "special": True, "normalized": False}
SPACES = [{"id": 50257 + i, "content": " " * (31 - i), "special": False, "normalized": True} for i in range(30)]
TAGS = [{"id": 50257 + i, "content": text, "special": False, "normalized": False}
        for i, text in enumerate(["<tag>", "</tag>", "'s ", "\n\n", " ab", "ab a", "a<|endof"])]

# Reads documents and tokenizer files, writes tokens as uint32 beside each: FILE.SOURCE.
PEER = r"""
import array, json, sys
from tokenizers import Tokenizer
sources = {name: [json.loads(line)["text"] for line in open(name + ".jsonl", encoding="utf-8")]
           for name in ("documents", "long")}
for file in sys.argv[1:]:
    coder = Tokenizer.from_file(file)
    coder.encode_special_tokens = True
    for name, documents in sources.items():
        tokens = array.array("I")
        for one in coder.encode_batch(documents):
            tokens.extend(one.ids)
        tokens.tofile(open(file + "." + name, "wb"))
"""


def byte_level(use_regex):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": steps}


def digits(individual):
    return {"type": "Digits", "individual_digits": individual}


def step(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def split(*words):
    return sequence(step(*words), byte_level(False))


DEEPSEEK3 = (r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
             r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
             r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
STEPS = {
    "starcoder": sequence(digits(True), byte_level(True)),  # SmolLM's too
    "runs": sequence(digits(False), byte_level(True)),
    "each": sequence(digits(True), step(LLAMA3), byte_level(False)),
    "deepseek3": sequence(*map(step, DEEPSEEK3), byte_level(False)),
    "both": sequence(step(r"\p{Lu}+|\s+"), byte_level(True)),
    "none": byte_level(False),
}


class HuggingFace(unittest.TestCase):
    def setUp(self):
        self.python = peers_python()
        merges, ids = fixture(self, "data/vocab.bpe"), fixture(self, "data/encoder.json")
        if self.python is None:
            self.skipTest("tokenizers cannot be installed")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "vocab": json.loads(ids.read_text()),
                      "merges": [line for line in merges.read_text(encoding="utf-8").split("\n")[1:] if line]}

    def write(self, name, pre_tokenizer, added, whole_words=False, normalizers=()):
        added = [{"single_word": False, "lstrip": False, "rstrip": False, **one} for one in added]
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps({
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": {"type": "Sequence", "normalizers": [{"type": kind} for kind in normalizers]},
            "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None,
            "model": {**self.model, "ignore_merges": whole_words}}))
        return file

    def ours(self, file, source):
        target = self.folder / f"{file.stem}.{pathlib.Path(source).stem}.made"
        subprocess.run([BUILD / "exprun", "data", "prepare", f"path={source}", "tokenizer=huggingface",
                        f"vocabulary={file.name}", "validation_fraction=0.0", "end_of_text=none", "--out", target],
                       cwd=self.folder, check=True, capture_output=True, timeout=TIMEOUT)
        shard = (target / "train_000000.bin").read_bytes()
        return struct.unpack(f"<{len(shard) // 2 - 512}H", shard[1024:])

    def test_same_tokens(self):
        generator = random.Random(1)
        hard = list(hard_documents(generator))[::40]
        documents = [*hard, *(unicodedata.normalize("NFD", text) for text in hard[::3]), "ab abcd abbcd a<|endoftext|> <tag>x</tag>\n\n\n it's  \t  x"]
        long_text = unicodedata.normalize("NFD", fixture(self, "data/wikitext2_valid.txt").read_text(encoding="utf-8")[:400_000])
        (self.folder / "long.txt").write_text(long_text, encoding="utf-8")
        for name, texts in ("documents", documents), ("long", [long_text]):
            lines = (json.dumps({"text": text}) + "\n" for text in texts)
            (self.folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        files = [self.write(name, split(pattern), [END]) for name, pattern in PATTERNS.items()]
        files += [self.write(name, steps, [END]) for name, steps in STEPS.items()]
        files += [self.write("spaces", byte_level(True), [END, *SPACES]),
                  self.write("tags", split(PATTERNS["llama3"]), [END, *TAGS]),
                  self.write("removed", split(PATTERNS["qwen2"], "Removed", True), [END, *SPACES]),
                  self.write("whole", split(PATTERNS["llama3"]), [END, *SPACES], whole_words=True),
                  self.write("qwen3", split(PATTERNS["qwen2"]), [END, *TAGS], normalizers=["NFC"]),
                  self.write("composed", byte_level(True), [END, *SPACES], normalizers=["NFC"])]
        subprocess.run([self.python, "-c", PEER, *files], cwd=self.folder, check=True, timeout=TIMEOUT)
        # A long text is cut for threads; they have had it in one piece.
        for name, source in ("documents", "documents.jsonl"), ("long", "long.txt"):
            for file in files:
                with self.subTest(file=file.name, source=source):
                    found = pathlib.Path(f"{file}.{name}").read_bytes()
                    theirs = struct.unpack(f"<{len(found) // 4}I", found)
                    ours = self.ours(file, source)
                    first = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)
                    self.assertIsNone(first, f"{first}: {ours[first or 0:][:8]} {theirs[first or 0:][:8]}")
                    self.assertEqual(len(ours), len(theirs))


if __name__ == "__main__":
    unittest.main()
