"""`exprun data prepare|info|verify|head` as a user types them."""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

from support import BUILD, TIMEOUT, fixture

# A program's peak memory is at least that of the process it was forked from: this one is small.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


class Data(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def data(self, *words, code=0, text=None):
        result = subprocess.run([BUILD / "exprun", "data", *words], cwd=self.folder, input=text, capture_output=True,
                                timeout=TIMEOUT, env={**os.environ, "NO_COLOR": "1"})
        self.assertEqual(result.returncode, code, result.stderr.decode())
        return result.stdout.decode() if code in (0, 1) and result.stdout else result.stderr.decode()

    def test_prepare_once_and_look(self):
        (self.folder / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
        said = self.data("prepare", "path=a.jsonl", "validation_every=2", "--out", "made")
        self.assertEqual(said, f"{self.folder}/made\n  train       3 tokens in 1 shard\n"
                               "  validation  3 tokens in 1 shard\n")
        self.assertEqual(self.data("head", "made/validation_000000.bin", "--ids"), "116\n119\n111\n\n"[:-1])
        self.assertEqual(self.data("head", "made"), "==> made/train_000000.bin\none\n==> made/validation_000000.bin\ntwo\n")
        self.assertEqual(self.data("verify", "made"),
                         "made: good\nmade/train_000000.bin: good\nmade/validation_000000.bin: good\n")
        info = json.loads(self.data("info", "made", "--json"))
        self.assertEqual([row["tokens"] for row in info], [3, 3])
        described = json.loads((self.folder / "made/data.json").read_text())["made_from"]
        self.assertEqual(described["documents"], 2)
        before = (self.folder / "made/train_000000.bin").stat().st_mtime_ns
        self.data("prepare", "path=a.jsonl", "validation_every=2", "--out", "made")
        self.assertEqual((self.folder / "made/train_000000.bin").stat().st_mtime_ns, before)

    def test_standard_input(self):
        said = self.data("prepare", "path=-", "validation_fraction=0.0", "--out", "made", text=b"hello")
        self.assertIn("train       5 tokens", said)
        self.assertEqual(self.data("head", "made"), "hello\n")
        self.assertIn("standard input cannot be prepared so: exprun data prepare --out FOLDER reads it",
                      self.data("prepare", "path=-", "validation_fraction=0.0", text=b"hello", code=2))

    def test_memory_is_bounded(self):
        line = b"All work and no play makes a dull text, %d times over.\n"
        with open(self.folder / "large.txt", "wb") as file:
            for block in range(200):
                file.write(b"".join(line % number for number in range(block, block + 10_000)))
        self.assertGreater((self.folder / "large.txt").stat().st_size, 100_000_000)
        words = ["data", "prepare", "path=large.txt", "--out", "made", "--threads", "2", "--json"]
        result = subprocess.run([sys.executable, "-c", PEAK, BUILD / "exprun", *words], cwd=self.folder, check=True,
                                capture_output=True, timeout=TIMEOUT)
        self.assertLess(int(result.stdout), 96 * 1024)

    def test_foreign_and_damaged_files(self):
        header = struct.pack("<256i", 20240801, 7, 2, *[0] * 253)
        (self.folder / "llama3.bin").write_bytes(header + struct.pack("<2I", 1, 128_000))
        (self.folder / "nanogpt.bin").write_bytes(struct.pack("<3H", 5, 6, 7))
        rows = json.loads(self.data("info", "llama3.bin", "nanogpt.bin", "--json"))
        self.assertEqual([(row["largest"], row["format"]) for row in rows],
                         [(128_000, "llm.c uint32 (magic 20240801)"), (7, "raw uint16, no header (nanoGPT)")])
        (self.folder / "llama3.bin").write_bytes(header + b"123")
        (self.folder / "empty.bin").write_bytes(b"")
        said = self.data("verify", "llama3.bin", "empty.bin", "nanogpt.bin", code=1)
        self.assertEqual(said, "llama3.bin: token shard: 'llama3.bin' is truncated: its header says 2 tokens, which "
                               "is 1032 bytes, but it has 1027; fetch or make it again\n"
                               "empty.bin: token shard: 'empty.bin' is empty; fetch or make it again\n"
                               "nanogpt.bin: good\n")
        self.assertIn("nothing says which tokenizer made 'nanogpt.bin'", self.data("head", "nanogpt.bin", code=2))

    def test_a_token_outside_of_the_vocabulary(self):
        vocabulary = fixture(self, "data/vocab.bpe").resolve()
        (self.folder / "a.txt").write_text("hello")
        self.data("prepare", "path=a.txt", "tokenizer=gpt2", f"vocabulary={vocabulary}", "validation_fraction=0.0",
                  "--out", "made")
        with open(self.folder / "made/train_000000.bin", "r+b") as file:
            file.seek(1024)
            file.write(struct.pack("<H", 60_000))
        self.assertEqual(self.data("verify", "made", code=1),
                         "made: train_000000.bin has other content than the manifest says\n"
                         "made/train_000000.bin: token 60000 is not in the vocabulary of 50257\n")


if __name__ == "__main__":
    unittest.main()
