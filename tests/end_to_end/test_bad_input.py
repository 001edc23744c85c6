"""Bad input of every kind: the whole error text, the exit code, and nothing half-written."""
import contextlib
import fcntl
import json
import os
import re
import signal
import sqlite3
import struct
import subprocess
import unittest

from support import BUILD, TINY, ExprunTest, flip_a_bit, kill

SHARDS = TINY.replace('name = "tiny"', 'name = "shards"').replace(
    'type = "text"\npath = "text.txt"\ntokenizer = "char"', 'type = "token_shards"\ntrain = "train.bin"').replace(
    "context_length = 16\n", "context_length = 16\nvocab_size = 50\n")
MAGIC = 20240520


@contextlib.contextmanager
def hold(lock):
    """The lock of a file's first byte, of this open file (F_OFD_SETLK)."""
    with open(lock, "r+b") as file:
        fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
        yield


def shard(tokens, magic=MAGIC, claimed=None):
    return struct.pack("<256i", magic, 1, claimed or len(tokens), *[0] * 253) + struct.pack(f"<{len(tokens)}H", *tokens)


class BadInput(ExprunTest):
    def assert_refused(self, words, code, error):
        """exprun says exactly this and leaves the folder as it was."""
        before = self.files()
        result = self.exprun(*words, code=code)
        self.assertEqual((result.out, result.err.replace(str(self.folder), "HERE")), ("", error))
        self.assertEqual(self.files(), before)

    def files(self):
        return {path.relative_to(self.folder): path.read_bytes() if path.is_file() else None
                for path in self.folder.rglob("*") if "cache" not in path.parts}


class BadRecipe(BadInput):
    def test_a_missing_file(self):
        self.assert_refused(["missing.toml"], 2, "missing.toml: error: no such file\n")
        (self.folder / "recipes").mkdir()
        self.write("recipes/missing.toml", "")
        self.assert_refused(["missing.toml"], 2, "missing.toml: error: no such file\n    did you mean 'recipes/missing.toml'?\n")
        self.assertIn("; did you mean 'recipes/missing.toml'?\n", self.exprun("missing", code=2).err)

    def test_a_recipe_without_a_name(self):
        for command, name in (("check", "RECIPE"), ("new", "NAME"), ("show", "RECIPE|RUN")):
            result = self.exprun(command, "", code=2)
            self.assertIn(f"{command}: {name} is empty\n  usage: exprun {command} ", result.err)
        for command in (["sweep", ""], ["data", "prepare", ""]):
            self.assert_refused(command, 2, "exprun: error: command line: the name of the recipe is empty\n")
        for name in (".", "..", "./", ".toml"):
            self.assert_refused(["new", name], 2,
                                f"exprun: error: new: '{name}' is not a valid recipe name; give a name such as 'mine'\n")

    def shell(self, script):
        """What a shell makes of it, with exprun as $0."""
        result = subprocess.run(["sh", "-c", script, BUILD / "exprun"], cwd=self.folder, capture_output=True, text=True,
                                timeout=self.timeout)
        return result.returncode, result.stderr

    def test_pipes_are_recipes(self):
        self.write("child.toml", 'extends = "/dev/stdin"\n')
        for recipe in ("/dev/stdin", "child.toml"):
            code, error = self.shell(f'cat tiny.toml | "$0" check --quick {recipe}')
            self.assertEqual((code, error), (0, ""))
        self.write("sweep.toml", (self.folder / "tiny.toml").read_text() + '[sweep.axes]\n"run.seed" = [1, 2]\n')
        self.assertEqual(self.shell('cat sweep.toml | "$0" check --quick /dev/stdin'), (0, ""))
        for words in "/dev/stdin", "/dev/stdin lr=1e-3 --origin", "/dev/stdin --schedule", "tiny.toml --diff /dev/stdin":
            self.assertEqual(self.shell(f'cat tiny.toml | "$0" show {words}')[0], 0, words)
        for words in "/dev/stdin", "sweep /dev/stdin seed=3,4", "/dev/stdin seed=5 --detach":
            self.assertEqual(self.shell(f'cat tiny.toml | "$0" {words} steps=2')[0], 0, words)
        self.assertEqual(self.rows("SELECT seed FROM runs ORDER BY seed"), [(3,), (4,), (5,), (1337,)])

    def test_a_standard_input_that_is_closed(self):
        self.assertEqual(self.shell('"$0" check tiny.toml hidden_size=24 tokenizer=byte <&-'), (0, ""))

    def test_a_working_directory_that_is_gone(self):
        self.assertEqual(self.shell('mkdir gone && cd gone && rmdir ../gone && "$0" ls'), (1, (
            "exprun: error: command line: the working directory cannot be found (No such file or directory); "
            "change to a folder that exists\n")))

    def test_a_store_behind_a_linked_folder(self):
        (self.folder / "there" / "inner").mkdir(parents=True)
        (self.folder / "link").symlink_to("there/inner")
        self.exprun("data", "prepare", "tiny.toml", "--store", "link/../store")
        self.assertTrue((self.folder / "there" / "store" / "data").is_dir())
        self.assertFalse((self.folder / "store").exists())

    def test_a_folder(self):
        (self.folder / "recipes").mkdir()
        self.assert_refused(["recipes"], 2, """\
recipes: error: this is a folder, not a recipe
    name a .toml file in it
""")

    def test_invalid_toml(self):
        self.write("bad.toml", "[run\nname = 3\n")
        self.assert_refused(["bad.toml"], 2, """\
bad.toml:1:5: error: expected ']', but the line ends
    [run
        ^
""")

    def test_an_unknown_key(self):
        self.assert_refused(["tiny.toml", "lrr=3"], 2, """\
<override 1>:1:1: error: unknown key 'lrr'
    lrr=3
    ^^^ did you mean 'lr'?
""")

    def test_a_wrong_type(self):
        self.assert_refused(["tiny.toml", "lr=fast"], 2, """\
<override 1>:1:4: error: 'lr' must be a float, got a string
    lr=fast
       ^^^^
""")

    def test_all_mistakes_at_once(self):
        text = (self.folder / "tiny.toml").read_text()
        self.write("tiny.toml", text.replace("num_heads", "num_head").replace("lr = 1e-2", 'lr = "1e-2"'))
        self.assert_refused(["tiny.toml"], 2, """\
tiny.toml:10:1: error: unknown key 'num_head' in [model]
    num_head = 2
    ^^^^^^^^ did you mean 'num_heads'?
tiny.toml:24:6: error: 'lr' must be a float, got a string
    lr = "1e-2"
         ^^^^^^ remove the quotes
""")

    def test_a_sweep_cannot_be_run_plainly(self):
        self.write("sweep.toml", (self.folder / "tiny.toml").read_text() + '[sweep.axes]\n"optimizer.lr" = [1e-3, 1e-2]\n')
        result = self.exprun("sweep.toml", code=2)
        self.assertIn("exprun sweep sweep.toml", result.err)


class BadUsage(BadInput):
    def test_an_unknown_command(self):
        result = self.exprun("reprot", code=2)
        self.assertIn("did you mean 'report'?", result.err)

    def test_no_such_run(self):
        self.exprun("tiny.toml", "steps=1")
        result = self.exprun("resume", "nothing-12345678", code=4)
        self.assertIn("nothing-12345678", result.err)

    def test_no_store(self):
        self.assert_refused(["ls"], 4, "exprun: error: store: there is no store in 'runs' yet; "
                            "run a recipe first, or give the folder of a store with --store DIR\n")
        self.exprun("tiny.toml", "steps=1", "--store", "project/runs")
        self.assert_refused(["ls", "--store", "project"], 4, "exprun: error: store: there is no store in 'project' yet; "
                            "did you mean --store project/runs?\n")

    def test_the_database_of_a_store(self):
        self.exprun("tiny.toml", "steps=1")
        for named in "runs/exprun.db", "runs/exprun.db/":
            self.assert_refused(["ls", "--store", named], 5, f"exprun: error: store: '{named.rstrip('/')}' is a file; "
                                                             "a store is a folder: --store runs\n")


class BadData(BadInput):
    def setUp(self):
        super().setUp()
        self.write("shards.toml", SHARDS)
        self.write("train.bin", shard([n % 50 for n in range(1000)]))

    def test_good_shards_run(self):
        self.exprun("shards.toml", "steps=2")

    def test_a_missing_text(self):
        self.assert_refused(["tiny.toml", "dataset.path=nothing.txt"], 2, """\
<override 1>:1:14: error: 'nothing.txt' does not exist
    dataset.path=nothing.txt
                 ^^^^^^^^^^^ paths are relative to the working directory, HERE
""")

    def test_a_wrong_magic(self):
        self.write("train.bin", shard([1] * 1000, magic=77))
        self.assert_refused(["shards.toml"], 2, """\
shards.toml:17:9: error: token shard: 'train.bin' begins with 77, not with a shard's magic 20240520, 20250211 or 20240801; \
if it contains only tokens, write format = "raw_uint16"
    train = "train.bin"
            ^^^^^^^^^^^
""")

    def test_prepared_tokens_that_were_edited_are_prepared_again(self):
        self.exprun("tiny.toml", "steps=2")
        (tokens,) = self.folder.glob("runs/data/*/train_000000.bin")
        before = tokens.read_bytes()
        damaged = rf"the prepared data in '\S+/{tokens.parent.name}' DAMAGED \(train_000000\.bin has other content than the manifest says\)"
        flip_a_bit(tokens)
        said = self.exprun("tiny.toml", "steps=2", "--new").err
        self.assertRegex(said, f"warning: data: {damaged.replace('DAMAGED', 'was damaged')} and has been prepared again\n")
        self.assertEqual(tokens.read_bytes(), before)
        self.assertEqual(self.series(1), self.series(2))
        flip_a_bit(tokens)
        (self.folder / "text.txt").unlink()
        said = self.exprun("rerun", "@last", code=1).err
        self.assertRegex(said, f"error: data: {damaged.replace('DAMAGED', 'is damaged')}, and text\\.txt is gone; bring the sources back as they were\n")

    def test_a_prepared_shard_that_was_edited(self):
        self.exprun("data", "prepare", "tiny.toml", "--out", "made")
        self.write("shards.toml", SHARDS.replace('"train.bin"', '"made/train_*.bin"'))
        self.exprun("shards.toml", "vocab_size=256", "steps=2")
        flip_a_bit(self.folder / "made/train_000000.bin")
        self.assert_refused(["shards.toml", "vocab_size=256"], 2, """\
shards.toml:17:9: error: token shard: 'made/train_000000.bin' has other content than the manifest says; download or create it again, \
or remove MANIFEST.json if the change is meant
    train = "made/train_*.bin"
            ^^^^^^^^^^^^^^^^^^
""")
        (self.folder / "made/MANIFEST.json").unlink()
        self.exprun("shards.toml", "vocab_size=256", "steps=2", "--new")

    def test_prepared_tokens_without_their_manifest_are_none(self):
        self.exprun("tiny.toml", "steps=2")
        (manifest,) = self.folder.glob("runs/data/*/MANIFEST.json")
        folder = f"runs/data/{manifest.parent.name}"
        self.write("shards.toml", SHARDS.replace('"train.bin"', f'"{folder}/train_*.bin"'))
        self.exprun("shards.toml", "steps=2")
        again = f"move 'HERE/{folder}' away and prepare the data again, with exprun data prepare or by a run of the recipe\n"
        flip_a_bit(manifest.parent / "train_000000.bin")
        told = self.exprun("shards.toml", "steps=2", "--new", code=2).err.replace(str(self.folder), "HERE")
        self.assertIn(f"error: token shard: '{folder}/train_000000.bin' has other content than the manifest says; {again}", told)
        manifest.unlink()
        for words in ("shards.toml", "steps=2", "--new"), ("resume", "shards", "run.steps=4"):
            said = self.exprun(*words, code=2).err.replace(str(self.folder), "HERE")
            self.assertRegex(said, rf"shards\.toml:17:9: error: the prepared data in '{folder}' has no MANIFEST\.json, so nothing shows that it is "
                             rf"whole\n.*\n *\^+ {re.escape(again)}")
        self.assertIn("MANIFEST.json is missing) and has been prepared again", self.exprun("tiny.toml", "steps=2", "--new").err)
        self.exprun("resume", "shards", "run.steps=4")

    def damage_while_training(self, recipe, files, restored):
        """Returns the shard, and what it was before."""
        process = self.start(f"{recipe}.toml", "steps=1000000")
        self.wait_for_step(20, process)
        (tokens,) = self.folder.glob(files)
        before = tokens.read_bytes()
        with tokens.open("r+b") as file:  # the trainer has mapped it
            file.seek(1024)
            file.write(b"\xff" * (len(before) - 1024))
        result = self.finish(process)
        self.assertEqual(result.code, 1, result.err)
        self.assertRegex(result.err, rf"error: token shard: '{tokens}' is damaged: its token \d+ is 65535, and the vocabulary has \d+ tokens; "
                         rf"`exprun data verify {tokens}` checks the file, and `exprun resume RUN` {restored}\n")
        self.assertEqual(self.state(), "failed")
        self.assertIn("has other content than the manifest says", self.exprun("data", "verify", tokens, code=1).out)
        return tokens, before

    def assert_continues(self, recipe):
        last = self.last_step()
        process = self.start("resume", recipe)
        self.wait_for_step(last + 20, process)
        process.terminate()
        self.assertEqual(self.finish(process).code, 143)

    def test_a_shard_that_is_damaged_while_a_run_trains(self):
        self.exprun("data", "prepare", "tiny.toml", "--out", "made")
        self.write("shards.toml", SHARDS.replace('"train.bin"', '"made/train_*.bin"\ntokenizer = "prepared"').replace("vocab_size = 50\n", ""))
        tokens, before = self.damage_while_training("shards", "made/train_*.bin", "continues once it is as it was")
        self.assertIn("has other content than the manifest says", self.exprun("resume", "shards", code=2).err)
        tokens.write_bytes(before)
        self.assert_continues("shards")

    def test_a_prepared_text_that_is_damaged_while_a_run_trains(self):
        tokens, before = self.damage_while_training("tiny", "runs/data/*/train_*.bin", "prepares it again and continues")
        self.assert_continues("tiny")
        self.assertEqual(tokens.read_bytes(), before)

    def test_a_truncated_shard(self):
        self.write("train.bin", shard([1] * 1000, claimed=2000))
        self.assert_refused(["shards.toml"], 2, """\
shards.toml:17:9: error: token shard: 'train.bin' is truncated: its header says 2000 tokens, which is 5024 bytes, \
but it has 3024; download or create it again
    train = "train.bin"
            ^^^^^^^^^^^
""")

    def test_a_shard_shorter_than_its_header(self):
        self.write("train.bin", b"abc")
        self.assert_refused(["shards.toml"], 2, """\
shards.toml:17:9: error: token shard: 'train.bin' has 3 bytes, fewer than the 1,024 of a shard's header; \
download or create it again, or write format = "raw_uint16" if it contains only tokens
    train = "train.bin"
            ^^^^^^^^^^^
""")

    def test_a_token_outside_the_vocabulary(self):
        self.write("train.bin", shard([70 if n == 500 else 1 for n in range(1000)]))
        self.assert_refused(["shards.toml"], 2, """\
shards.toml:13:14: error: 'vocab_size' must be >= 71: the data has the token 70
    vocab_size = 50
                 ^^ write the size of the vocabulary that made the tokens, such as 50257 for GPT-2's
""")


class BadStore(BadInput):
    def test_a_store_that_is_no_database(self):
        self.write("runs/exprun.db", "These are notes, and nobody should write over them.\n" * 20)
        for words in (["tiny.toml"], ["ls"], ["report"]):
            self.assert_refused(words, 5, "exprun: error: store: cannot open 'HERE/runs/exprun.db': it is not a SQLite "
                                "database; move it away, or choose another place with --store\n")

    def test_a_store_of_another_program(self):
        (self.folder / "runs").mkdir()
        with sqlite3.connect(self.folder / "runs/exprun.db") as database:
            database.execute("CREATE TABLE song (name TEXT)")
        database.close()
        self.assert_refused(["tiny.toml"], 5, "exprun: error: store: cannot open 'HERE/runs/exprun.db': it is a SQLite "
                            "database of another program; move it away, or choose another place with --store\n")

    def test_a_damaged_store(self):
        self.exprun("tiny.toml", "steps=1")
        database = self.folder / "runs/exprun.db"
        os.truncate(database, 5000)
        result = self.exprun("tiny.toml", "steps=1", "--new", code=5)
        self.assertEqual(result.err.replace(str(self.folder), "HERE"),
                         "exprun: error: store: cannot open 'HERE/runs/exprun.db': it is damaged (database disk image is "
                         "malformed); move it aside and recover what is readable with: sqlite3 FILE .recover\n")

    def test_a_doctor_tells_of_a_damaged_store(self):
        self.exprun("tiny.toml", "steps=2")
        self.assertNotIn("problem", self.exprun("doctor").out)
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as store, store:
            store.execute("PRAGMA writable_schema = ON")
            store.execute("UPDATE sqlite_schema SET sql = 'CREATE INDEX run_by_name ON run (uid)' "
                          "WHERE name = 'run_by_name'")
        report = json.loads(self.exprun("doctor", "--json", code=1).out)
        self.assertEqual(report["store"]["problem"],
                         f"store: '{self.folder}/runs/exprun.db' is damaged (row 1 missing from index "
                         "run_by_name); move it aside and recover what is readable with: sqlite3 FILE .recover")

    def test_a_doctor_tells_of_stale_locks_by_the_names_of_runs(self):
        process = self.start("tiny.toml", "steps=100000", "name=killed")
        self.wait_for_step(5, process)
        process.send_signal(signal.SIGSTOP)  # so that it cannot record how its trainer ended
        kill(process)
        process.communicate()
        crashed = self.run_folder().name
        said = json.loads(self.exprun("doctor", "--json").out)["store"]
        self.assertEqual(said["stale_locks"], [f"{crashed} (id 1) has ended (crashed), which is not recorded yet; run exprun gc "
                                               "or any command that writes to the store"])
        self.assertEqual(said["store_lock"], "free")
        self.exprun("gc")
        self.assertEqual(json.loads(self.exprun("doctor", "--json").out)["store"]["stale_locks"], "none")
        with hold(self.run_folder() / "run.lock"), hold(self.folder / "runs" / "exprun.db.lock"):
            said = self.exprun("doctor").out
        self.assertIn(f"  stale locks          {crashed} (id 1) has ended, and a process still holds its run.lock (lslocks "
                      "names it)\n", said)
        self.assertIn("  store lock           a process keeps exprun.db.lock (lslocks names it)\n", said)

    def test_a_merge_of_nothing(self):
        self.assert_refused(["merge", "nowhere"], 5, "exprun: error: merge: there is no store 'nowhere': give the exprun.db file "
                            "of another store, or the folder that contains it\n")

    def test_a_file_where_the_store_should_be(self):
        self.write("runs", "")
        self.assert_refused(["tiny.toml"], 5, "exprun: error: store: 'runs' is a file; a store is a folder: "
                            "choose one with --store DIR\n")


class BadDisk(BadInput):
    """On small file systems of their own, which only root can mount."""

    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()

    def mount(self, options):
        result = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.disk], capture_output=True)
        if result.returncode:
            self.skipTest("mounting a file system needs root")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)

    def remount(self, options):
        subprocess.run(["mount", "-o", f"remount,{options}", self.disk], check=True)

    def test_a_read_only_folder(self):
        self.mount("size=10m")
        self.remount("ro")
        self.assert_refused(["--store", "disk", "tiny.toml"], 5, "exprun: error: store: cannot write to the folder of "
                            "'HERE/disk/exprun.db': Read-only file system; check its permissions, "
                            "or choose another place with --store\n")

    def test_a_store_that_became_read_only_can_be_read(self):
        self.mount("size=10m")
        self.exprun("--store", "disk", "tiny.toml")
        self.remount("ro")
        self.assertIn("finished", self.exprun("--store", "disk", "ls").out)
        self.assertIn("tiny", self.exprun("--store", "disk", "report").out)

    def test_a_doctor_tells_that_a_store_cannot_be_written(self):
        self.mount("size=10m")
        for _ in ("without a database", "with one"):
            self.assertIs(json.loads(self.exprun("--store", "disk", "doctor", "--json").out)["store"]["writable"], True)
            self.remount("ro")
            said = json.loads(self.exprun("--store", "disk", "doctor", "--json", code=1).out)["store"]
            problem = (f"store: nothing can be written to '{self.disk}': Read-only file system; choose another place with "
                       "--store to run recipes")
            self.assertEqual((said["writable"], said["problem"]), (False, problem))
            self.assertRegex(self.exprun("--store", "disk", "doctor", code=1).out, rf"  writable +no\n  problem +{re.escape(problem)}\n")
            self.remount("rw")
            self.exprun("--store", "disk", "tiny.toml", "steps=1")

    def test_a_store_on_a_full_disk_can_be_read(self):
        self.mount("size=10m")
        self.exprun("--store", "disk", "tiny.toml")
        with contextlib.suppress(OSError), open(self.disk / "filler", "wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass
        self.assertIn("finished", self.exprun("--store", "disk", "ls").out)
        self.assertIn("tiny", self.exprun("--store", "disk", "report").out)
        self.assertIn("loss", self.exprun("--store", "disk", "plot", "@last").out)

    def test_runs_on_a_disk_without_a_byte_left_can_be_removed(self):
        self.mount("size=42m")
        self.exprun("--store", "disk", "tiny.toml", "hidden_size=256")
        used = self.disk_usage()
        with contextlib.suppress(OSError), open(self.disk / "filler", "wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass
        self.exprun("--store", "disk", "rm", "tiny")
        self.exprun("--store", "disk", "gc")
        self.assertLess(self.disk_usage() - (self.disk / "filler").stat().st_size, used / 2)
        self.assertEqual(self.rows("SELECT count(*) FROM run", store="disk"), [(0,)])
        self.assertEqual((self.disk / "reserve").stat().st_size, 256 << 10)  # for the next time

    def disk_usage(self):
        space = os.statvfs(self.disk)
        return (space.f_blocks - space.f_bfree) * space.f_bsize

    def test_a_disk_too_full_for_tensorboard(self):
        words = ("tiny.toml", "metrics.tensorboard=true", "checkpoint.every='5 steps'")
        process = self.start(*words, "steps=100000000")
        self.wait_for_step(6, process)
        process.send_signal(signal.SIGINT)
        self.finish(process)
        self.disk = self.run_folder() / "tensorboard"
        self.mount("size=4k")
        process = self.start(*words, "steps=100000000")
        self.wait_for_step(self.last_step() + 400, process)
        process.send_signal(signal.SIGINT)
        result = self.finish(process)
        self.assertEqual(result.code, 130, result.err)
        self.assertEqual(result.err.count("No space left on device; free some space. Training continues, but the "
                                          "TensorBoard file lacks the values that could not be written (`exprun export "
                                          "RUN --tensorboard DIR` writes all values from the store)\n"), 1, result.err)

    def test_a_disk_too_full_for_a_store(self):
        self.mount("size=40k")
        result = self.exprun("--store", "disk", "tiny.toml", code=5)
        self.assertEqual(result.err.replace(str(self.folder), "HERE"), "exprun: error: store: cannot prepare "
                         "'HERE/disk/exprun.db': the disk is full; free some space\n")
        self.remount("size=10m")
        self.exprun("--store", "disk", "tiny.toml")

    def test_a_disk_without_room_for_the_checkpoints(self):
        self.mount("size=700k")
        result = self.exprun("--store", "disk", "tiny.toml", "hidden_size=256", "keep_last=2", "max_restarts=1",
                             code=2)
        self.assertRegex(result.err, r"<override 2>:1:22: error: 4 checkpoints take [0-9.]+ MiB, but the disk of "
                         r"\S+/disk/\S+ has [0-9.]+ KiB left\n    checkpoint.keep_last=2\n {25}\^ free some space, "
                         r"or choose another place with --store\n")
        self.assertNotIn("restart", result.err)  # it would be refused again
        self.assertEqual(list(self.disk.glob("*/checkpoints/*")), [])

    def test_a_disk_that_becomes_too_full_for_a_checkpoint(self):
        self.mount("size=42m")
        process = self.start("--store", "disk", "tiny.toml", "hidden_size=256", "steps=100000000",
                             "checkpoint.every='1000000 steps'")
        self.wait_for_step(4, process, store="disk")
        space = os.statvfs(self.disk)
        (self.disk / "filler").write_bytes(bytes(space.f_bavail * space.f_bsize - 500_000))
        process.send_signal(signal.SIGINT)
        result = self.finish(process)
        self.assertEqual(result.code, 1)
        self.assertIn("No space left on device; free some space", result.err)
        self.assertEqual(self.rows("SELECT state FROM runs", store="disk"), [("failed",)])
        self.assertEqual(list(self.disk.glob("*/checkpoints/*")), [])
        self.assertEqual(self.rows("SELECT count(*) FROM checkpoint", store="disk"), [(0,)])
        self.assertRegex(self.rows("SELECT message FROM runs", store="disk")[0][0],
                         r"^file: cannot write '\S+': No space left on device; free some space$")
        # What was measured until then is all there.
        self.assertEqual(self.rows("SELECT count(*) = max(step) AND count(*) >= 4 FROM metrics "
                                   "WHERE name = 'train/loss'", store="disk"), [(1,)])

    def test_a_disk_without_a_byte_left_does_not_hide_why_a_run_failed(self):
        self.mount("size=42m")
        process = self.start("--store", "disk", "tiny.toml", "hidden_size=256", "steps=100000000",
                             "checkpoint.every='1000000 steps'")
        self.wait_for_step(4, process, store="disk")
        with contextlib.suppress(OSError), open(self.disk / "filler", "wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 1)
        (self.disk / "filler").unlink()
        self.assertRegex(self.exprun("--store", "disk", "show", "@last").out,
                         r"because +file: cannot write '\S+': No space left on device; free some space\n")
        self.assertIn(" failed ", self.exprun("--store", "disk", "ls").out)


if __name__ == "__main__":
    unittest.main()
