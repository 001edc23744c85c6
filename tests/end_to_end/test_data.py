"""`exprun data prepare|info|verify|head` as a user types them."""
import base64
import fcntl
import functools
import gzip
import json
import os
import pathlib
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from byte_level import ALPHABET, ALPHABET_BYTES, tokenizer_json
from shells import has_terminals
from support import BUILD, TIMEOUT, fixture

F_OFD_SETLK = 37  # of Linux; Python's module has it not

# A program's peak memory is at least that of the process it was forked from: this one is small.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def zstd_frame(text):
    """A frame of one block that is not packed."""
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, len(text)) + (len(text) << 3 | 1).to_bytes(3, "little") + text


class Data(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def data(self, *words, code=0, text=None):
        result = subprocess.run([BUILD / "exprun", "data", *words], cwd=self.folder, input=text, capture_output=True,
                                timeout=TIMEOUT, env={**os.environ, "NO_COLOR": "1"})
        self.assertEqual(result.returncode, code, result.stderr.decode())
        shown = {0: result.stdout or result.stderr, 1: result.stdout + result.stderr}.get(code, result.stderr)
        return shown.decode(errors="replace")

    def test_prepare_once_and_look(self):
        (self.folder / "a.jsonl").write_text('{"text": "one"}\n{"text": "two"}\n')
        said = self.data("prepare", "path=a.jsonl", "validation_every=2", "--out", "made")
        self.assertEqual(said, f"{self.folder}/made\n  train       3 tokens in 1 shard\n"
                               "  validation  3 tokens in 1 shard\n")
        self.assertEqual(self.data("head", "made/validation_000000.bin", "--ids"), "116\n119\n111\n\n"[:-1])
        self.assertEqual(self.data("head", "made"), "==> made/train_000000.bin\none\n==> made/validation_000000.bin\ntwo\n")
        self.assertEqual(self.data("verify", "made"),
                         "made: good\nmade/train_000000.bin: good: 3 tokens, uint16 behind a header\n"
                         "made/validation_000000.bin: good: 3 tokens, uint16 behind a header\n")
        info = json.loads(self.data("info", "made", "--json"))
        self.assertEqual([row["tokens"] for row in info], [3, 3])
        described = json.loads((self.folder / "made/data.json").read_text())["made_from"]
        self.assertEqual(described["documents"], 2)
        before = (self.folder / "made/train_000000.bin").stat().st_mtime_ns
        self.data("prepare", "path=a.jsonl", "validation_every=2", "--out", "made")
        self.assertEqual((self.folder / "made/train_000000.bin").stat().st_mtime_ns, before)

    def test_quiet_prints_nothing_but_what_a_script_asks_for(self):
        (self.folder / "a.txt").write_text("hello world")
        self.assertEqual(self.data("prepare", "-q", "path=a.txt", "--out", "made"), "")
        self.assertIn("fingerprint", self.data("prepare", "-q", "path=a.txt", "--out", "made", "--json"))

    def test_what_is_wrong_without_a_recipe_has_a_place_only_in_what_was_typed(self):
        self.assertTrue(self.data("prepare", "tokenizer=byte", code=2).startswith(
            "exprun data prepare: error: [dataset] needs 'path'\n    files to read: "))
        (self.folder / "a.txt").write_text("hello world")
        self.assertRegex(self.data("prepare", "path=a.txt", "tokenizer=gpt2", code=2),
                         r"^<override 2>:1:\d+: error: file: cannot open 'data/gpt2_tokenizer': .*\n.*tokenizer=gpt2\n"
                         r" *\^+ get the vocabulary of GPT-2: exprun data fetch gpt2_tokenizer; or set dataset\.vocabulary to the folder ")
        self.assertTrue(self.data("prepare", "path=b.txt", code=2).startswith("<override 1>:1:14: error: 'b.txt' does not exist\n"))

    def test_standard_input(self):
        said = self.data("prepare", "path=-", "validation_fraction=0.0", "--out", "made", text=b"hello")
        self.assertIn("train       5 tokens", said)
        self.assertEqual(self.data("head", "made"), "hello\n")
        self.assertIn("standard input cannot be used here: only exprun data prepare --out DIR reads it",
                      self.data("prepare", "path=-", "validation_fraction=0.0", text=b"hello", code=2))

    def test_standard_input_says_how_it_can_be_split(self):
        said = self.data("prepare", "path=-", "--out", "made", text=b"hello", code=2)
        self.assertIn("error: standard input cannot be used here: its length is known only at its end\n", said)
        self.assertIn("^ write validation_fraction=0 or validation_tokens=N, or save it to a file\n", said)
        said = self.data("prepare", "path=-", "validation_fraction=0", "--out", "made", text=b"", code=2)
        self.assertIn("error: the sources contain no text, so there are no tokens to train on\n", said)
        said = self.data("prepare", "path=/dev/stdin", "--out", "made", text=b"hello", code=2)
        self.assertIn("error: '/dev/stdin' is not a regular file\n", said)
        self.assertIn("^ read a pipe with exprun data prepare path=- --out DIR\n", said)
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_folder_may_be_a_link_and_end_with_a_slash(self):
        (self.folder / "a.txt").write_text("hello world")
        (self.folder / "disk").mkdir()
        (self.folder / "link").symlink_to("disk")
        for out in ("made/", "link/", "link"):
            self.data("prepare", "path=a.txt", "--out", out)
        self.assertEqual(os.readlink(self.folder / "link"), "disk")
        self.assertTrue((self.folder / "disk/train_000000.bin").exists())
        self.assertTrue((self.folder / "made/train_000000.bin").exists())
        before = sorted(os.listdir(self.folder))
        self.assertEqual(self.data("prepare", "path=a.txt", "--out", ".", code=1),
                         "exprun: error: data: '.' is the working directory; give a folder in it\n")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_names_need_not_be_utf8(self):
        here = os.fsencode(self.folder) + b"/in\xe9"
        os.mkdir(here)
        self.folder = pathlib.Path(os.fsdecode(here))
        (self.folder / os.fsdecode(b"caf\xe9.txt")).write_text("hello world")
        for words in ["--out", os.fsdecode(b"d\xe9/made")], []:
            said = json.loads(self.data("prepare", 'path="*.txt"', "--json", *words))
            self.assertEqual([file["path"] for file in said["made_from"]["files"]], ["caf\ufffd.txt"])
            self.assertIn("/in\ufffd/", said["train"][0]["path"])
        described = json.loads((self.folder / os.fsdecode(b"d\xe9/made/data.json")).read_text())["made_from"]
        self.assertEqual(described["files"][0]["path"], "caf\ufffd.txt")
        self.assertTrue(described["working_directory"].endswith("/in\ufffd"))
        rows = json.loads(self.data("info", os.fsdecode(b"d\xe9/made"), "--json"))
        self.assertEqual([row["file"] for row in rows], [f"d\ufffd/made/{name}_000000.bin" for name in ("train", "validation")])
        os.mkdir(self.folder / "ranks")
        bytes_of = {character: byte for byte, character in zip(ALPHABET_BYTES, ALPHABET)}
        ids = json.loads(fixture(self, "data/encoder.json").read_text(encoding="utf-8"))
        lines = [base64.b64encode(bytes(bytes_of[character] for character in text)) + b" %d\n" % number
                 for text, number in ids.items() if text != "<|endoftext|>"]
        (self.folder / "ranks" / os.fsdecode(b"gpt\xe9.tiktoken")).write_bytes(b"".join(lines))
        self.data("prepare", 'path="*.txt"', "tokenizer=huggingface", "vocabulary=ranks", "validation_fraction=0",
                  "--out", "words")
        self.assertEqual(self.data("head", "words"), "hello world\n")

    def test_each_set_has_its_own_tokenizer(self):
        (self.folder / "a.txt").write_text("abc")
        (self.folder / "b.txt").write_text("xyz")
        for name in "ab":
            self.data("prepare", f"path={name}.txt", "tokenizer=char", "validation_fraction=0", "--out", name)
        self.assertEqual(self.data("head", "a", "b"), "==> a/train_000000.bin\nabc\n==> b/train_000000.bin\nxyz\n")
        rows = json.loads(self.data("info", "a", "b", "--histogram", "9", "--json"))
        self.assertEqual([(row["count"], row["text"]) for row in rows], [(2, "")] * 3)
        rows = json.loads(self.data("info", "a", "a", "--histogram", "9", "--json"))
        self.assertEqual([(row["count"], row["text"]) for row in rows], [(2, '"a"'), (2, '"b"'), (2, '"c"')])

    def test_a_set_says_what_it_was_made_of(self):
        (self.folder / "texts").mkdir()
        contents = {"texts/a.txt": b"hello world", "texts/b.txt.gz": gzip.compress(b"hello again")}
        for name, content in contents.items():
            (self.folder / name).write_bytes(content)
        self.data("prepare", 'path="texts/*"', "validation_fraction=0.5", "--out", "made")
        made_from = json.loads((self.folder / "made/data.json").read_text())["made_from"]
        self.assertEqual([(file["path"], file["bytes"]) for file in made_from["files"]],
                         [(name, len(content)) for name, content in contents.items()])
        self.assertEqual(made_from["working_directory"], str(self.folder))
        self.assertEqual(made_from["documents"], 2)
        before = [file["xxh3_128"] for file in made_from["files"]]
        self.assertEqual([len(digits) for digits in before], [32, 32])
        (self.folder / "texts/a.txt").write_bytes(b"hello there")
        self.assertEqual(self.data("prepare", 'path="texts/*"', "validation_fraction=0.5", "--out", "made", code=1),
                         f"exprun: error: data: '{self.folder}/made' exists and does not hold this data; move it away, or "
                         "give a new or empty folder\n")
        self.data("prepare", 'path="texts/*"', "validation_fraction=0.5", "--out", "again")
        made_from = json.loads((self.folder / "again/data.json").read_text())["made_from"]
        after = [file["xxh3_128"] for file in made_from["files"]]
        self.assertEqual([one == other for one, other in zip(before, after)], [False, True])
        self.data("prepare", "path=-", "validation_fraction=0", "--out", "piped", text=b"hello there")
        piped = json.loads((self.folder / "piped/data.json").read_text())["made_from"]["files"]
        self.assertEqual(piped, [{"path": "-", "bytes": 11, "xxh3_128": after[0]}])

    def test_what_is_put_into_the_output_directory_meanwhile_stays(self):
        process = subprocess.Popen([BUILD / "exprun", "data", "prepare", "path=-", "validation_fraction=0", "--out", "made"],
                                   cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        while not (self.folder / "made.partial/progress.json").exists() and process.poll() is None:
            time.sleep(0.01)
        (self.folder / "made").mkdir()
        (self.folder / "made/thesis.tex").write_text("years")
        said = process.communicate(b"hello", timeout=TIMEOUT)[1].decode()
        self.assertIn(f"it is complete in '{self.folder}/made.partial'\n", said)
        self.assertEqual(process.returncode, 1)

    def test_a_call_says_that_it_waits_for_another(self):
        (self.folder / "a.txt").write_text("hello world")
        with open(self.folder / ".made.lock", "wb") as other:
            fcntl.fcntl(other, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
            process = subprocess.Popen([BUILD / "exprun", "data", "prepare", "path=a.txt", "--out", "made"],
                                       cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            self.assertEqual(process.stderr.readline(),
                             f"exprun: another process prepares data below '{self.folder}': waiting for it\n")
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.txt", "made"])

    def gc(self, *words):
        result = subprocess.run([BUILD / "exprun", "gc", *words], cwd=self.folder, capture_output=True, timeout=TIMEOUT,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr

    def test_unfinished_data_are_taken_off_the_disk_without_a_run(self):
        (self.folder / "a.txt").write_text("hello world")
        self.data("prepare", "path=a.txt")
        before = sorted(os.listdir(self.folder / "runs/data"))
        left = self.folder / "runs/data/0123.partial"
        left.mkdir()
        said = "one unfinished data folder (0 B) from disk; there are no runs\n"
        self.assertEqual(self.gc("--dry-run"), "exprun: would delete 0123.partial from disk: unfinished data that no process is preparing\n"
                         "exprun: would delete " + said)
        self.assertTrue(left.exists())
        self.assertEqual(self.gc(), "exprun: deleting 0123.partial from disk: unfinished data that no process is preparing\n"
                         "exprun: deleted " + said)
        self.assertEqual(self.gc(), "exprun: deleted nothing from disk; there are no runs\n")
        self.assertEqual(sorted(os.listdir(self.folder / "runs/data")), before)
        self.assertEqual(os.listdir(self.folder / "runs"), ["data"])

    def test_files_of_both_splits(self):
        (self.folder / "a.txt").write_text("one")
        (self.folder / "held.txt").write_text("two!")
        os.link(self.folder / "held.txt", self.folder / "linked.txt")
        said = "".join(f"  {split} {count} tokens in 1 shard\n" for split, count in (("train      ", 3), ("validation ", 4)))
        self.assertIn(said, self.data("prepare", 'path="*.txt"', "validation=held.txt", "--out", "made"))
        described = json.loads((self.folder / "made/data.json").read_text())["made_from"]["files"]
        self.assertEqual([(file["path"], file["split"]) for file in described],
                         [("a.txt", "train"), ("held.txt", "validation")])
        self.assertIn(" 2 files, 7 bytes: a.txt, held.txt (validation)\n", self.data("info", "made"))
        said = self.data("prepare", "path=held.txt", "validation=linked.txt", "--out", "linked")
        self.assertIn("  train       4 tokens in 1 shard\n  validation  4 tokens in 1 shard\n", said)
        words = [BUILD / "exprun", "data", "prepare", 'path="*.txt"', 'validation="*.txt"', "--out", "both"]
        result = subprocess.run(words, cwd=self.folder, capture_output=True, timeout=TIMEOUT, text=True, check=True)
        self.assertIn("exprun: warning: data: the model is validated on its training data, 'a.txt': val/loss does not "
                      "show overfitting\n", result.stderr)
        self.assertIn("error: all matching files are for validation, and none is left to train on\n",
                      self.data("prepare", 'path="held*"', "validation=held.txt", "--out", "made", code=2))

    def test_threads_have_a_sensible_most(self):
        (self.folder / "a.txt").write_text("hello world")
        self.assertEqual(self.data("prepare", "path=a.txt", "--threads=100000", code=2),
                         "exprun: error: data prepare: --threads takes 1 to 1024, or 0 for all cores\n")

    def test_a_separator_of_a_shell_is_no_line_end(self):
        (self.folder / "a.txt").write_text("one\n\ntwo")
        said = self.data("prepare", "path=a.txt", "separator=\\n\\n", "--out", "made", code=2)
        self.assertIn("error: '\\n' is two characters in a value without quotes\n", said)
        self.data("prepare", "path=a.txt", 'separator="\\n\\n"', "validation_fraction=0", "--out", "made")
        self.assertEqual(json.loads((self.folder / "made/data.json").read_text())["made_from"]["documents"], 2)
        result = subprocess.run([BUILD / "exprun", "data", "prepare", "path=a.txt", "separator='\\n'", "--out", "other"],
                                cwd=self.folder, capture_output=True, timeout=TIMEOUT, check=True, text=True)
        self.assertIn('separator "\\\\n" does not occur in the texts: each file is one document\n', result.stderr)

    def write_large(self, name, line, opened=open):
        with opened(self.folder / name, "wb") as file:
            for block in range(200):
                file.write(b"".join(line % number for number in range(block, block + 10_000)))

    def assert_bounded(self, *words):
        shutil.rmtree(self.folder / "made", ignore_errors=True)
        words = ["data", "prepare", *words, "--out", "made", "--threads", "2", "--json"]
        result = subprocess.run([sys.executable, "-c", PEAK, BUILD / "exprun", *words], cwd=self.folder, check=True,
                                capture_output=True, timeout=TIMEOUT)
        self.assertLess(int(result.stdout), 96 * 1024)

    def test_memory_is_bounded(self):
        self.write_large("large.txt", b"All work and no play makes a dull text, %d times over.\n")
        self.assertGreater((self.folder / "large.txt").stat().st_size, 100_000_000)
        self.assert_bounded("path=large.txt")
        self.assert_bounded("path=large.txt", 'separator="\\n"', "block_tokens=64")

    def test_memory_is_bounded_for_records(self):
        self.write_large("large.jsonl", b'{"text": "All work and no play makes a dull record, %d times over."}\n')
        self.assert_bounded("path=large.jsonl")

    def test_memory_is_bounded_for_packed_text(self):
        line = b"All work and no play makes a dull text, %d times over.\n"
        self.write_large("large.txt.gz", line, functools.partial(gzip.open, compresslevel=1))
        self.assert_bounded("path=large.txt.gz")
        (self.folder / "large.txt.zst").write_bytes(zstd_frame(b"All work and no play. " * 5_000) * 1_000)
        self.assert_bounded("path=large.txt.zst")

    def test_memory_is_bounded_for_documents_of_nothing(self):
        (self.folder / "large.txt").write_bytes(b"\n" * 10_000_000 + b"some text")
        self.assert_bounded("path=large.txt", 'separator="\\n"', "validation_fraction=0")
        self.assert_bounded("path=large.txt", 'separator="\\n"', "validation_fraction=0", "block_tokens=2")
        (self.folder / "large.jsonl").write_bytes(b'{"text":""}\n' * 1_000_000 + b'{"text":"some text"}\n')
        self.assert_bounded("path=large.jsonl", "validation_fraction=0")

    def test_memory_is_bounded_for_a_text_that_begins_as_a_record(self):
        (self.folder / "large").write_bytes(b'{"a":[' + b"{}," * 2_700_000 + b"\nsome text")
        self.assert_bounded("path=large", "validation_fraction=0")

    def test_foreign_and_damaged_files(self):
        header = struct.pack("<256i", 20240801, 7, 2, *[0] * 253)
        (self.folder / "llama3.bin").write_bytes(header + struct.pack("<2I", 1, 128_000))
        (self.folder / "nanogpt.bin").write_bytes(struct.pack("<3H", 5, 6, 7))
        rows = json.loads(self.data("info", "llama3.bin", "nanogpt.bin", "--json"))
        self.assertEqual([(row["largest"], row["format"]) for row in rows],
                         [(128_000, "llm.c uint32 (magic 20240801)"), (7, "raw uint16, no header (nanoGPT)")])
        (self.folder / "llama3.bin").write_bytes(header + b"123")
        (self.folder / "empty.bin").write_bytes(b"")
        said = self.data("verify", "llama3.bin", "empty.bin", "nanogpt.bin", "nothing.bin", code=1)
        self.assertEqual(said, "llama3.bin: token shard: 'llama3.bin' is truncated: its header says 2 tokens, which "
                               "is 1032 bytes, but it has 1027; download or create it again\n"
                               "empty.bin: token shard: 'empty.bin' is empty; download or create it again\n"
                               "nanogpt.bin: does not begin with a shard's header; if it contains only uint16 tokens, as nanoGPT "
                               "writes them, they are 3, the largest 7: verify it with --format raw_uint16\n"
                               "exprun: error: data: 'nothing.bin' does not exist\n")
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
                         f"made: {self.again('made')}\n"
                         "made/train_000000.bin: has other content than the manifest says\n")
        (self.folder / "made/MANIFEST.json").unlink()
        self.assertIn("made/train_000000.bin: token 60000 is not in the vocabulary of 50257\n",
                      self.data("verify", "made", code=1))

    def test_a_vocabulary_that_is_not_the_one_of_the_tokenizer(self):
        (self.folder / "a.txt").write_text("hello")
        (self.folder / "small.json").write_text(tokenizer_json())
        words = "prepare", "path=a.txt", "validation_fraction=0.0", "--out", "made"
        self.assertIn("'small.json' has 256 tokens, but GPT-2 has 50,257\n",
                      said := self.data(*words, "tokenizer=gpt2", "vocabulary=small.json", code=2))
        self.assertIn("write tokenizer = \"huggingface\", or get GPT-2's: exprun data fetch gpt2_tokenizer\n", said)
        self.assertIn("train       5 tokens", self.data(*words, "tokenizer=huggingface", "vocabulary=small.json"))
        said = self.data(*words[:-1], "other", "tokenizer=huggingface", "vocabulary=none.json", code=2)
        self.assertIn("give the tokenizer.json of a byte-level BPE, or its folder\n", said)

    def test_a_vocabulary_beyond_16_bits(self):
        last = 1 << 17
        (self.folder / "wide.json").write_text(tokenizer_json({"ab": 70_000, "abc": last}, ["a b", "ab c"]))
        (self.folder / "a.txt").write_text("abc ab a")
        said = json.loads(self.data("prepare", "path=a.txt", "tokenizer=huggingface", "vocabulary=wide.json",
                                    "validation_fraction=0", "shard_tokens=3", "--out", "made", "--json"))
        self.assertEqual((said["vocab_size"], [shard["token_bytes"] for shard in said["train"]]), (last + 1, [4, 4]))
        space, a = ALPHABET.index("\u0120"), ALPHABET.index("a")
        tokens = [last, space, 70_000, space, a]
        for number, part in enumerate((tokens[:3], tokens[3:])):
            self.assertEqual((self.folder / f"made/train_00000{number}.bin").read_bytes(),
                             struct.pack(f"<256i{len(part)}I", 20240801, 7, len(part), *[0] * 253, *part))
        self.assertEqual(self.data("head", "made/train_000000.bin", "--ids"), f"{last}\n{space}\n70000\n")
        self.assertEqual(self.data("head", "made"), "==> made/train_000000.bin\nabc ab\n==> made/train_000001.bin\n a\n")
        rows = json.loads(self.data("info", "made", "--json"))
        self.assertEqual([(row["largest"], row["format"]) for row in rows],
                         [(last, "llm.c uint32 (magic 20240801)"), (space, "llm.c uint32 (magic 20240801)")])
        self.data("verify", "made")

    def test_a_shard_with_other_content_is_not_good(self):
        (self.folder / "a.txt").write_text("hello, hello, hello")
        self.data("prepare", "path=a.txt", "validation_fraction=0.5", "shard_tokens=4", "--out", "made")
        for name in ("train_000001.bin", "train_000002.bin"):
            with open(self.folder / "made" / name, "r+b") as file:
                file.seek(1024)
                file.write(b"J")
        good = "good: 4 tokens, uint16 behind a header"
        self.assertEqual(self.data("verify", "made", code=1),
                         "made: train_000001.bin has other content than the manifest says\n"
                         "made: train_000002.bin has other content than the manifest says\n"
                         f"made: {self.again('made')}\n"
                         f"made/train_000000.bin: {good}\n"
                         "made/train_000001.bin: has other content than the manifest says\n"
                         "made/train_000002.bin: has other content than the manifest says\n"
                         f"made/validation_000000.bin: {good}\nmade/validation_000001.bin: {good}\n"
                         f"made/validation_000002.bin: {good.replace('4', '2')}\n")

    def again(self, folder):
        return (f"move '{self.folder.resolve()}/{folder}' away and prepare the data again, "
                "with exprun data prepare or by a run of the recipe")

    def made(self, name="made"):
        """A set of four and three tokens, in three shards."""
        (self.folder / "abc.txt").write_text("abcdefg")
        self.data("prepare", "path=abc.txt", "tokenizer=char", "validation_fraction=0.4", "shard_tokens=3", "--out", name)
        self.assertEqual(len(list((self.folder / name).glob("*.bin"))), 3)
        return self.folder / name

    def test_what_is_looked_at_must_be_named(self):
        for command in "info", "verify":
            for words, said in ([], "missing"), ([""], "empty"):
                self.assertEqual(self.data(command, *words, code=2),
                                 f"exprun: error: data: PATH is {said}\n  usage: exprun data {command} PATH...\n")
        self.assertEqual(self.data("head", "", code=2), "exprun: error: data head: PATH is empty\n")

    def test_a_shard_named_alone_is_compared_with_its_manifest(self):
        made = self.made()
        good = "good: 3 tokens, uint16 behind a header"
        self.assertEqual(self.data("verify", "made/train_000000.bin"), f"made/train_000000.bin: {good}\n")
        with open(made / "train_000000.bin", "r+b") as file:
            file.seek(1026)
            file.write(b"\0")
        damaged = f"has other content than the manifest says; {self.again('made')}\n"
        self.assertEqual(self.data("verify", "made/train_000000.bin", "made/validation_000000.bin", code=1),
                         f"made/train_000000.bin: {damaged}made/validation_000000.bin: {good}\n")
        self.folder = made
        self.assertEqual(self.data("verify", "train_000000.bin", code=1), f"train_000000.bin: {damaged}")

    def test_what_a_manifest_says_of_a_shard_comes_first(self):
        (self.made() / "train_000000.bin").write_text("x\n")
        problem = "has 2 bytes, the manifest says 1030"
        self.assertEqual(self.data("verify", "made/train_000000.bin", code=1),
                         f"made/train_000000.bin: {problem}; {self.again('made')}\n")
        said = self.data("verify", "made", code=1)
        self.assertIn(f"made/train_000000.bin: {problem}\n", said)
        self.assertNotIn("--format", said)

    def test_what_is_to_be_removed_is_named_wholly(self):
        made = self.made()
        (made / "MANIFEST.json").unlink()
        (self.folder / "other").mkdir()
        for here, name in (".", "made"), (".", "made/"), ("made", "."), ("made", "./"), ("other", "../made"):
            self.folder = made.parent / here
            self.assertIn(f": move '{made.resolve()}' away and prepare the data again", self.data("verify", name, code=1))

    def test_verify_names_its_own_options(self):
        (self.folder / "page.html").write_text("<html></html")
        (self.folder / "odd.bin").write_bytes(b"abc")
        (self.folder / "short.bin").write_bytes(struct.pack("<2i", 20240520, 1))
        said = self.data("verify", "page.html", "odd.bin", "short.bin", code=1)
        said += self.data("verify", "page.html", "odd.bin", "short.bin", "--format", "raw_uint16", code=1)
        self.assertNotIn("format =", said)
        self.assertIn("odd.bin: does not begin with a shard's header; token shard: 'odd.bin' has an odd number of bytes (3), ", said)
        self.assertIn("short.bin: begins with a shard's header; verify it with --format auto\n", said)

    def test_what_verify_finds_can_be_read_by_a_script(self):
        (self.made() / "train_000001.bin").unlink()
        name = os.fsdecode(b"caf\xe9.bin")
        (self.folder / name).write_bytes(b"")
        found = json.loads(self.data("verify", "--json", "made", name, "nothing.bin", code=1))
        good = "good: 3 tokens, uint16 behind a header"
        self.assertEqual([(one["path"], one["good"], one["finding"]) for one in found],
                         [("made", False, "train_000001.bin is missing"), ("made", False, self.again("made")),
                          ("made/train_000000.bin", True, good), ("made/validation_000000.bin", True, good),
                          ("caf\ufffd.bin", False, "token shard: 'caf\ufffd.bin' is empty; download or create it again"),
                          ("nothing.bin", False, "data: 'nothing.bin' does not exist")])
        found = json.loads(self.data("verify", "--json", "made/train_000000.bin"))
        self.assertEqual(found, [{"path": "made/train_000000.bin", "good": True, "finding": good}])

    def test_what_verify_cannot_look_at_is_an_error(self):
        (self.folder / "empty").mkdir()
        words = [BUILD / "exprun", "data", "verify", "nothing", "empty"]
        result = subprocess.run(words, cwd=self.folder, text=True, capture_output=True, timeout=TIMEOUT)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "exprun: error: data: 'nothing' does not exist\n"
                                        "exprun: error: data: 'empty' has no token shards (*.bin); exprun data prepare makes some\n")

    def test_names_do_nothing_to_a_terminal(self):
        if not has_terminals():
            self.skipTest("this machine has no pseudo-terminals")
        (self.folder / "c\033\x9bm.bin").write_bytes(b"")
        for command in "verify", "info", "head":
            reader, writer = pty.openpty()
            self.addCleanup(os.close, reader)
            with os.fdopen(writer, "wb") as terminal:
                subprocess.run([BUILD / "exprun", "data", command, "c\033\x9bm.bin"], cwd=self.folder, stdout=terminal,
                               stderr=terminal, timeout=TIMEOUT, env={**os.environ, "NO_COLOR": "1"})
                self.assertIn("token shard: 'c\ufffd\ufffdm.bin' is empty", os.read(reader, 1000).decode())

    def test_a_manifest_of_something_else(self):
        manifest = self.made() / "MANIFEST.json"
        description = json.loads(manifest.read_text())["files"]["data.json"]
        damaged = "MANIFEST.json is damaged"
        for files, problem in (3, damaged), ([], damaged), (
                {"data.json": {"bytes": 1}}, damaged), ({"data.json": {**description, "bytes": 1e300}}, damaged), ({"data.json": description, "../a.txt": description}, damaged), (
                {"data.json": description, "/etc/passwd": description}, damaged):
            manifest.write_text(json.dumps({"version": 1, "files": files}))
            self.assertEqual(self.data("verify", "made", code=1).splitlines()[:2],
                             [f"made: {problem}", f"made: {self.again('made')}"])
            name, what = problem.split(" ", 1)
            self.assertEqual(self.data("verify", "made/train_000000.bin", code=1),
                             f"made/train_000000.bin: cannot be compared, 'made/{name}' {what}; {self.again('made')}\n")

    def test_a_manifest_without_a_description_may_be_of_others(self):
        made = self.made()
        (made / "data.json").unlink()
        manifest = json.loads((made / "MANIFEST.json").read_text())
        del manifest["files"]["data.json"]
        (made / "MANIFEST.json").write_text(json.dumps(manifest))
        (made / "train_000000.bin").write_bytes((made / "train_000000.bin").read_bytes()[:-1] + b"x")
        for name in "made", "made/train_000000.bin":
            said = self.data("verify", name, code=1)
            self.assertIn("has other content than the manifest says\n", said)
            self.assertNotIn("prepare", said)
        (made / "data.json").write_text('{"rows": [1, 2]}')  # of somebody's program
        self.assertNotIn("made: move", self.data("verify", "made", code=1))

    def test_a_damaged_shard_is_told_before_its_tokenizer_is_missed(self):
        (self.folder / "bad.bin").write_bytes(struct.pack("<256i", 20240520, 1, -4, *[0] * 253))
        (self.folder / "none.bin").write_bytes(struct.pack("<256i", 20240520, 1, 0, *[0] * 253))
        damaged = "token shard: 'bad.bin' has a damaged header (-4 tokens); download or create it again\n"
        self.assertEqual(self.data("head", "bad.bin", code=1), f"exprun: error: {damaged}")
        self.assertEqual(self.data("info", "bad.bin", code=1), f"exprun: error: {damaged}")
        self.assertEqual(self.data("verify", "none.bin", code=1), "none.bin: holds no token; download or create it again\n")

    def test_head_does_nothing_to_a_terminal(self):
        (self.folder / "a.txt").write_bytes(b"a\033]0;title\007\tred\x9b\r\n\xc2\x9bz")
        self.data("prepare", "path=a.txt", "tokenizer=byte", "validation_fraction=0", "--out", "made")
        self.assertEqual(self.data("head", "made"), "a\033]0;title\007\tred\ufffd\r\n\x9bz\n")
        if not has_terminals():
            self.skipTest("this machine has no pseudo-terminals")
        reader, writer = pty.openpty()
        self.addCleanup(os.close, reader)
        with os.fdopen(writer, "wb") as terminal:
            subprocess.run([BUILD / "exprun", "data", "head", "made"], cwd=self.folder, stdout=terminal, timeout=TIMEOUT, check=True)
            self.assertEqual(os.read(reader, 1000).decode(), "a\ufffd]0;title\ufffd\tred\ufffd\ufffd\r\n\ufffdz\r\n")

    def test_a_limit_of_file_sizes_is_an_error(self):
        (self.folder / "a.txt").write_text("a" * 1_000_000)
        words = "data", "prepare", "path=a.txt", "tokenizer=byte", "validation_fraction=0", "--out", "made"
        command = ["sh", "-c", 'ulimit -f 100; exec "$@"', "-", BUILD / "exprun", *words]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual((result.returncode, result.stderr),
                         (1, f"exprun: error: file: cannot write '{self.folder}/made.partial/train_000000.bin': File too large; "
                             "raise the limit of file sizes (ulimit -f)\n"))
        self.data(*words[1:])
        self.data("verify", "made")

    def test_a_set_without_its_manifest_is_not_good(self):
        (self.made() / "MANIFEST.json").unlink()
        again = self.again("made")
        said = self.data("verify", "made", code=1)
        self.assertEqual(said.splitlines()[:2], ["made: MANIFEST.json is missing", f"made: {again}"])
        self.assertEqual(self.data("verify", "made/train_000000.bin", code=1),
                         f"made/train_000000.bin: cannot be compared, 'made/MANIFEST.json' is missing; {again}\n")
        self.folder /= "made"
        self.assertIn(again, self.data("verify", "train_000000.bin", code=1))

    def test_a_shard_that_is_no_part_of_the_set_is_not_good(self):
        made = self.made()
        (made / "train_000009.bin").write_bytes((made / "train_000000.bin").read_bytes())
        said = self.data("verify", "made", code=1)
        self.assertIn("made: train_000009.bin is not in the manifest\n", said)
        self.assertNotIn("made: good", said)
        self.assertEqual(self.data("verify", "made/train_000009.bin", code=1),
                         "made/train_000009.bin: is not in the manifest\n")

    def test_sets_whose_files_are_links_are_good(self):
        made = self.made()
        shutil.copytree(made, self.folder / "linked")
        (self.folder / "elsewhere.bin").write_bytes((made / "train_000000.bin").read_bytes())
        (self.folder / "linked/train_000000.bin").unlink()
        (self.folder / "linked/train_000000.bin").symlink_to(self.folder / "elsewhere.bin")
        (self.folder / "all").mkdir()
        for file in made.iterdir():
            (self.folder / "all" / file.name).symlink_to(file)
        for name in "linked", "all":
            said = self.data("verify", name)
            self.assertTrue(said.startswith(f"{name}: good\n"), said)

    def test_a_folder_that_cannot_be_read_does_not_end_what_is_said_of_the_others(self):
        if os.geteuid() == 0:
            self.skipTest("root may read all")
        (self.made() / "closed").mkdir(mode=0)
        self.made("other")
        said = self.data("verify", "made", "other", code=1)
        self.assertIn("data: cannot look through 'made': Permission denied\n", said)
        self.assertIn("other: good\n", said)
        (self.folder / "made/closed").rmdir()

    def test_a_damaged_shard_is_told_though_the_manifest_lacks_another_file(self):
        made = self.made()
        shard = made / "train_000000.bin"
        shard.write_bytes(shard.read_bytes()[:-2] + b"zz")
        listed = json.loads((made / "MANIFEST.json").read_text())
        del listed["files"]["validation_000000.bin"]
        (made / "MANIFEST.json").write_text(json.dumps(listed))
        for path in "made", "made/train_000000.bin":
            self.assertIn("has other content than the manifest says", self.data("verify", path, code=1))

    def test_a_file_without_a_header_is_good_only_where_its_format_is_named(self):
        (self.folder / "page.html").write_text("<html>not found</html>")
        (self.folder / "tokens.bin").write_bytes(struct.pack("<3H", 5, 6, 7))
        made = self.made()
        shard = (made / "train_000000.bin").read_bytes()
        (self.folder / "zeroed.bin").write_bytes(b"\0" + shard[1:])
        (self.folder / "whole.bin").write_bytes(shard)
        for name in "page.html", "tokens.bin", "zeroed.bin":
            self.assertRegex(self.data("verify", name, code=1),
                             f"^{name}: does not begin with a shard's header; if it contains only uint16 tokens, .*: verify it with "
                             "--format raw_uint16\n$")
        (self.folder / "long.txt").write_text("not found " * 99)
        self.assertIn("long.txt: does not begin with a shard's header; data: 'long.txt' is text, not tokens; ",
                      self.data("verify", "long.txt", code=1))
        self.assertEqual(self.data("verify", "tokens.bin", "--format", "raw_uint16"),
                         "tokens.bin: good: 3 tokens, raw uint16, no header; the largest is 7, and there is no vocabulary to compare it "
                         "with\n")
        self.assertIn("begins with a shard's header", self.data("verify", "whole.bin", "--format=raw_uint16", code=1))
        self.assertEqual(self.data("verify", "tokens.bin", "--format", "raw", code=2),
                         "exprun: error: data verify: --format takes auto or raw_uint16, not 'raw'\n")

    def test_a_damaged_description_is_named_and_the_rest_is_looked_at(self):
        damaged = self.made("damaged")
        self.made()
        (damaged / "data.json").write_text("{")
        problem = "prepared data: 'damaged/data.json' is damaged (parse error"
        again = self.again("damaged") + "\n"
        said = self.data("verify", "damaged", "made", code=1)
        self.assertTrue(said.startswith(problem) and again in said, said)
        self.assertIn("made: good\n", said)
        for words, shown in (("info", "--histogram", "9"), "share"), (("head",), "abc"), (("head", "--ids"), "==> damaged"):
            result = subprocess.run([BUILD / "exprun", "data", *words, "damaged", "made"], cwd=self.folder, text=True,
                                    capture_output=True, timeout=TIMEOUT)
            self.assertEqual(result.returncode, 1)
            self.assertIn(shown, result.stdout)
            self.assertEqual(result.stderr.count(problem), 1, result.stderr)
            self.assertIn(again, result.stderr)

    def test_info_shows_what_a_set_was_made_from(self):
        made = self.made()
        said = self.data("info", "made")
        self.assertEqual(said.partition("\n\n")[0],
                         "made\n"
                         "  tokenizer   char, vocabulary of 7\n"
                         "  train       4 tokens in 2 shards\n"
                         "  validation  3 tokens in 1 shard\n"
                         "  sources     one file, 7 bytes: abc.txt\n"
                         f"  below       {self.folder}\n"
                         "  text        one document, 7 bytes\n"
                         "  options     shard_tokens = 3, validation_fraction = 0.4")
        self.assertEqual(len(json.loads(self.data("info", "made", "--json"))), 3)
        described = json.loads((made / "data.json").read_text())
        described["made_from"] |= {"files": [{"path": f"{name}.txt"} for name in "abcd"], "number_of_files": 1000}
        (made / "data.json").write_text(json.dumps(described))
        self.assertIn("  sources     1,000 files, 7 bytes: a.txt, b.txt, c.txt and 997 more\n", self.data("info", "made"))
        for wrong in {"files": {}}, {"files": []}, {"number_of_files": -5}, {"number_of_files": 3}, []:
            text = json.dumps(described | {"made_from": wrong and described["made_from"] | wrong})
            (made / "data.json").write_text(text)
            result = subprocess.run([BUILD / "exprun", "data", "info", "made"], cwd=self.folder, text=True,
                                    capture_output=True, timeout=TIMEOUT)
            self.assertEqual(result.returncode, 1, wrong)
            self.assertIn("error: prepared data: 'made/data.json' does not say what the data was made from (", result.stderr)
            self.assertIn("made/train_000001.bin", result.stdout)

    def test_a_line_end_in_a_name_ends_no_line(self):
        (self.folder / "a\nb.txt").write_text("abc")
        self.data("prepare", 'path="*.txt"', "validation_fraction=0", "--out", "made")
        self.assertIn("  sources     one file, 3 bytes: \"a\\nb.txt\"\n", self.data("info", "made"))

    def test_sources_of_each_split_are_listed(self):
        for name in ("a", 101), ("v", 2):
            for number in range(name[1]):
                (self.folder / f"{name[0]}{number:03}.txt").write_text(name[0])
        self.data("prepare", 'path="a*.txt"', 'validation="v*.txt"', "--out", "made")
        described = json.loads((self.folder / "made/data.json").read_text())["made_from"]
        self.assertEqual([file["split"] for file in described["files"]], ["train"] * 100 + ["validation"] * 2)
        self.assertIn(": a000.txt, a001.txt, a002.txt, v000.txt (validation), v001.txt (validation) and 98 more\n",
                      self.data("info", "made"))

    def test_a_set_that_lost_its_shards_is_to_be_prepared_again(self):
        for shard in self.made().glob("*.bin"):
            shard.unlink()
        for command in "head", "verify":
            self.assertIn("data: 'made' has no token shards (*.bin); exprun data prepare makes some\n",
                          self.data(command, "made", code=1))
        self.assertIn(f"made: {self.again('made')}\n", self.data("verify", "made", code=1))

    def test_a_vocabulary_that_is_missing_is_told(self):
        self.made()
        self.assertIn("'nothing'", self.data("info", "made", "--tokenizer", "nothing", code=1))

    def test_head_names_all_that_it_cannot_show(self):
        (self.folder / "raw.bin").write_bytes(struct.pack("<3H", 5, 6, 7))
        said = self.data("head", "raw.bin", "nope", code=2)
        self.assertIn("data: 'nope' does not exist\n", said)
        self.assertIn("nothing says which tokenizer made 'raw.bin'", said)

    def test_one_token_is_said_as_one(self):
        (self.folder / "a.txt").write_text("a")
        result = subprocess.run([BUILD / "exprun", "data", "prepare", "path=a.txt", "validation_fraction=0", "--out", "made"],
                                cwd=self.folder, text=True, capture_output=True, timeout=TIMEOUT, check=True)
        self.assertIn("exprun: prepared one token (byte tokenizer, vocabulary of 256)\n", result.stderr)

    def test_info_of_a_set_made_of_standard_input(self):
        self.data("prepare", "path=-", "validation_fraction=0", "--out", "made", text=b"hello")
        self.assertIn("  sources     standard input, 5 bytes\n  text        one document, 5 bytes\n", self.data("info", "made"))

    def test_info_tells_of_a_shard_that_is_missing(self):
        (self.made() / "train_000001.bin").unlink()
        result = subprocess.run([BUILD / "exprun", "data", "info", "made"], cwd=self.folder, text=True,
                                capture_output=True, timeout=TIMEOUT)
        self.assertEqual(result.stderr, "exprun: error: data: 'made/train_000001.bin' is missing, "
                                        "'made/data.json' lists it\n")
        self.assertIn("made/train_000000.bin", result.stdout)
        self.assertEqual(result.returncode, 1)

    def test_a_shard_named_alone_has_the_tokenizer_of_its_set(self):
        self.made()
        self.assertEqual(self.data("head", "made/train_000000.bin"), "abc\n")
        rows = json.loads(self.data("info", "made/train_000000.bin", "--histogram", "9", "--json"))
        self.assertEqual([row["text"] for row in rows], ['"a"', '"b"', '"c"'])

    def test_head_says_where_a_shard_ends(self):
        self.made()
        self.assertEqual(self.data("head", "made/train_000000.bin", "--from", "2", "--tokens", str(2**63 - 1)), "c\n")
        self.assertEqual(self.data("head", "made/train_000000.bin", "--from", "3", code=1),
                         "exprun: error: data head: 'made/train_000000.bin' has 3 tokens, none from 3 on\n")
        self.assertEqual(self.data("head", "made/train_000000.bin", "--tokens", "-5", code=2),
                         "exprun: error: data: --tokens takes a whole number of at least 1, not '-5'\n"
                         "  usage: exprun data head PATH...|--run RUN --step N\n")

    def test_a_folder_of_a_run_is_no_set(self):
        (self.folder / "run").mkdir()
        (self.folder / "run/data.json").write_text("{")
        for command in "info", "verify", "head":
            said = self.data(command, "run", code=1)
            self.assertIn("data: 'run' has no token shards (*.bin); exprun data prepare makes some\n", said)
            self.assertNotIn("remove", said)

    def test_info_shows_what_is_good_beside_what_is_broken(self):
        (self.folder / "shards").mkdir()
        (self.folder / "shards/a.bin").write_bytes(b"")
        (self.folder / "shards/b.bin").write_bytes(struct.pack("<3H", 5, 6, 7))
        os.mkfifo(self.folder / "shards/c.bin")
        for words, key, expected in ([], "file", ["shards/b.bin"]), (["--histogram", "9"], "token", [5, 6, 7]):
            result = subprocess.run([BUILD / "exprun", "data", "info", "shards", "--json", *words], cwd=self.folder,
                                    text=True, capture_output=True, timeout=TIMEOUT)
            self.assertEqual(result.stderr,
                             "exprun: error: token shard: 'shards/a.bin' is empty; download or create it again\n"
                             "exprun: error: token shard: 'shards/c.bin' is not a regular file (it is a pipe or a device)\n")
            self.assertEqual([row[key] for row in json.loads(result.stdout)], expected)
            self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    unittest.main()
