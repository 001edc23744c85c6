"""A recipe runs to its end, is recorded, and is not run twice."""
import contextlib
import json
import os
import re
import resource
import shutil
import sqlite3
import unittest

from support import ROOT, ExprunTest

PACKED = """
[dataset]
type = "text"
path = "alpaca.json"
tokenizer = "byte"
template = "Task: {instruction} Input: {input} Answer: {output}"
fallback_template = "Task: {instruction} Answer: {output}"
validation_fraction = 0.0
block_tokens = 16
blocks = "separate"
"""


class Run(ExprunTest):
    def test_a_small_model_trains_with_one_thread(self):
        self.exprun("tiny.toml", "threads=auto", "steps=1")
        (state,) = self.run_folder().glob("checkpoints/*/state.json")
        self.assertEqual(json.loads(state.read_text())["threads"], 1)

    def test_a_recipe_runs_to_its_end(self):
        result = self.exprun("tiny.toml", "evaluation.val_loss.every='10 steps'")
        self.assertEqual(result.code, 0)
        self.assertEqual(self.rows("SELECT name, state, steps, last_step, exit_code FROM runs"),
                         [("tiny", "finished", 40, 40, 0)])
        counts = dict(self.rows("SELECT name, count(*) FROM metrics GROUP BY name"))
        self.assertEqual({name: counts[name] for name in ("train/loss", "lr", "grad_norm", "val/loss")},
                         {"train/loss": 40, "lr": 40, "grad_norm": 40, "val/loss": 5})
        self.assertEqual(self.rows("SELECT step FROM metrics WHERE name = 'val/loss' ORDER BY step"),
                         [(0,), (10,), (20,), (30,), (40,)])
        first, last = (value for (value,) in self.rows(
            "SELECT value FROM metrics WHERE name = 'val/loss' AND step IN (0, 40) ORDER BY step"))
        self.assertLess(last, first - 0.2)
        self.assertTrue((self.run_folder() / "checkpoints/step_00000040/MANIFEST.json").exists())

    def test_overrides_are_stored_with_the_whole_paths_of_their_keys(self):
        """So that no change that comes later gives a short key another meaning."""
        self.exprun("tiny.toml", "steps=1", "lr=0.5", "~seed", "keep_last=2")
        self.assertEqual(json.loads((self.run_folder() / "recipe.json").read_text())["overrides"],
                         ["run.steps=1", "optimizer.lr=0.5", "~run.seed", "checkpoint.keep_last=2"])

    def test_a_file_name_of_any_language_names_the_run(self):
        (self.folder / "tiny.toml").rename(self.folder / "größe ☕.toml")
        self.exprun("größe ☕.toml", "~run.name", "steps=2")
        self.assertEqual(self.rows("SELECT name FROM runs"), [("größe__",)])
        for name in "größe__", "größe ☕":
            self.assertIn("größe__-", self.exprun("ls", name).out)
            self.assertIn('name = "größe__"', self.exprun("show", name).out)
        # A word that is only like it is none.
        for word in "größe ☕☕", "größe ☕ ☕", "größe##", "größe  ":
            self.assertIn(f"no run '{word}' in", self.exprun("rm", word, code=4).err)
        self.exprun("größe ☕.toml", "~run.name", "steps=3", "init_from=größe ☕")
        self.assertIn("nothing to do: this recipe has been run", self.exprun("größe ☕.toml", "~run.name", "steps=2").err)
        self.exprun("größe ☕.toml", "steps=2", "name=" + "ß" * 128)
        self.assertEqual(len(self.run_folder().name), 64 + 9)

    def test_no_file_that_exprun_wrote_is_text_to_train_on(self):
        texts = self.folder / "texts"
        self.write("texts/input.txt", "".join(f"{n} little ships went out to sea, and came home to me.\n" for n in range(2000)))
        self.exprun("new", "first", "--path", "input.txt", cwd=texts)
        few = ("-q", "warmup=1 step", "evaluation.sample.every=1 step", "evaluation.sample.tokens=10")
        self.exprun("first.toml", "steps=1", *few, cwd=texts)
        said = self.exprun("new", "mine", "--path", ".", cwd=texts).err
        self.assertIn('new: the recipe reads 1 of the 2 files in \'.\': "**/*.txt"\n', said)
        self.exprun("mine.toml", "steps=2", *few, cwd=texts)
        with (texts / "mine.toml").open("a") as recipe:
            recipe.write("# a comment\n")
        self.assertIn("nothing to do", self.exprun("mine.toml", "steps=2", *few[1:], cwd=texts).err)
        self.exprun("mine.toml", "path=**/*.t*", "steps=3", *few, cwd=texts)
        made = [json.loads(path.read_text())["made_from"]["files"] for path in texts.glob("runs/*-*/data.json")]
        self.assertEqual(sorted([file["path"] for file in files] for files in made),
                         [["first.toml", "input.txt", "mine.toml"], ["input.txt"], ["input.txt"]])

    def test_timers_record_averages_in_the_words_of_the_guide(self):
        self.exprun("tiny.toml", "metrics.timers=true", "metrics.every='20 steps'")
        times = dict(self.rows("SELECT name, avg(value) FROM metrics WHERE name LIKE 'time/%' GROUP BY name"))
        self.assertEqual(set(times), {"time/data", "time/forward", "time/backward", "time/update", "time/total"})
        self.assertGreater(min(times.values()), 0)
        self.assertAlmostEqual(times.pop("time/total"), sum(times.values()), places=6)
        self.assertEqual(self.rows("SELECT name, step FROM metrics WHERE name = 'running_loss'"),
                         [("running_loss", 20), ("running_loss", 40)])
        ((progress,),) = self.rows("SELECT value FROM metrics WHERE name = 'epoch_progress' AND step = 40")
        self.assertTrue(0 < progress < 1)
        ((remaining,),) = self.rows("SELECT value FROM metrics WHERE name = 'num_batches_remaining' AND step = 40")
        self.assertEqual(remaining, round(40 / progress) - 40)
        memory = dict(self.rows("SELECT name, value FROM metrics WHERE name LIKE '%_gb' AND step = 40"))
        self.assertEqual(set(memory), {"total_gb", "curr_alloc_gb", "peak_alloc_gb"})
        self.assertTrue(0.01 < memory["curr_alloc_gb"] <= memory["peak_alloc_gb"] < memory["total_gb"])

    def test_a_step_has_the_memory_of_the_one_before(self):
        """A large tensor's pages, zeroed by the system one by one, can take longer than what is computed in them."""
        def page_faults(steps):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
            self.exprun("tiny.toml", f"run.steps={steps}", "model.vocab_size=50304", "batch.sequences=32",
                        "checkpoint.every='1000 steps'")
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before

        few, many = page_faults(10), page_faults(30)
        self.assertLess((many - few) / 20, 1000)

    def test_the_guides_packed_blocks_are_trained_on(self):
        """Prompts and answers of a JSON array, packed in blocks each for itself, the rest of a group kept or dropped."""
        records = [{"instruction": f"Add {n} and {n}.", "input": "" if n % 2 else "numbers", "output": f"{2 * n} it is"}
                   for n in range(100)]
        self.write("alpaca.json", json.dumps(records))
        recipe = re.sub(r"\[dataset\].*?\n\n", "", (self.folder / "tiny.toml").read_text(), flags=re.S)
        self.write("alpaca.toml", recipe.replace("steps = 40", 'length = "2 epochs"').replace("sequences = 4", "sequences = 2") +
                   PACKED)
        texts = [f"Task: {r['instruction']} Input: {r['input']} Answer: {r['output']}" if r["input"] else
                 f"Task: {r['instruction']} Answer: {r['output']}" for r in records]
        groups = [len("".join(texts[i:i + 30])) for i in range(0, 100, 30)]
        for group, blocks in ((0, sum(groups) // 16), (30, sum(size // 16 for size in groups))):
            with self.subTest(block_documents=group):
                self.exprun("alpaca.toml", f"block_documents={group}")
                made = json.loads((self.run_folder() / "data.json").read_text())
                self.assertEqual(sum(shard["tokens"] for shard in made["train"]), 16 * blocks)
                steps = 2 * blocks // 2
                self.assertEqual(self.rows("SELECT state, steps FROM runs ORDER BY run DESC LIMIT 1"), [("finished", steps)])
                first, last = (self.rows("SELECT value FROM metrics WHERE name = 'train/loss' AND step = ? AND "
                                         "run = (SELECT max(run) FROM runs)", step)[0][0] for step in (1, steps))
                self.assertLess(last, first - 1)

    def test_a_finished_recipe_is_shown_not_run_again(self):
        self.exprun("tiny.toml")
        self.exprun("tiny.toml")
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(1,)])
        self.exprun("tiny.toml", "--new")
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(2,)])

    def test_a_finished_recipe_whose_data_has_changed_says_so(self):
        text = self.folder / "words.txt"
        text.write_text("to be or not to be, that is the question\n" * 200)
        words = ("tiny.toml", "dataset.type=text", f"dataset.path={text}", "dataset.tokenizer=byte")
        said = "exprun: warning: the data that the recipe names is not what this run was trained on; --new trains on it\n"
        self.exprun(*words)
        self.assertNotIn(said, self.exprun(*words).err)
        text.write_text("whether it is nobler in the mind to suffer\n" * 200)
        self.assertIn(said, self.exprun(*words).err)
        different = "these runs were trained on 2 different datasets, so their losses may not be comparable"
        self.assertIn(different, self.exprun("sweep", *words, "lr=1e-2,2e-2").err)
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(2,)])

    def test_data_that_were_brought_back_are_those_of_the_run_on_them(self):
        text = (self.folder / "text.txt").read_text()
        self.exprun("tiny.toml", "steps=2")
        first = self.run_folder().name
        self.write("text.txt", text + "changed")
        self.assertIn(f"differs from {first}: data: text.txt has changed since", self.exprun("tiny.toml", "steps=2", "--new").err)
        self.write("text.txt", text)
        shown = self.exprun("tiny.toml", "steps=2")
        self.assertTrue(shown.out.startswith(f"{first}: finished\n"), shown.out)
        self.assertEqual(shown.err, "exprun: nothing to do: this recipe has been run; --new runs it again\n")
        self.assertIn(f"exprun: new run; differs from {first}: run.steps: 3 (was 2)\n", self.exprun("tiny.toml", "steps=3").err)

    def test_the_run_on_the_data_is_meant_though_none_is_prepared(self):
        nothing_to_do = "exprun: nothing to do: this recipe has been run; --new runs it again\n"
        small = (self.folder / "text.txt").read_text()
        large = small * (1 + (17 << 20) // len(small))
        for words, text in (["steps=2"], small), (["steps=3", "tokenizer=byte", "evaluation.val_loss.tokens=64"], large):
            with self.subTest(bytes=len(text)):
                shutil.rmtree(self.folder / "runs", ignore_errors=True)
                self.write("text.txt", text)
                self.exprun("tiny.toml", *words)
                first = self.run_folder().name
                self.write("text.txt", text + "changed")
                self.exprun("tiny.toml", *words, "--new")
                self.write("text.txt", text)
                shutil.rmtree(self.folder / "runs/data")
                shown = self.exprun("tiny.toml", *words)
                self.assertTrue(shown.out.startswith(f"{first}: finished\n"), shown.out)
                self.assertEqual(shown.err, nothing_to_do)
        (self.folder / "text.txt").unlink()
        self.assertIn("warning: the data that the recipe names cannot be read, so nothing tells whether this run was trained on it, and other "
                      "runs of the same recipe were trained on other data; `exprun data prepare RECIPE` says what is missing\n",
                      self.exprun("tiny.toml", *words).err)

    def test_a_run_that_was_extended_is_told_from_one_on_other_data(self):
        text = (self.folder / "text.txt").read_text()
        for content in text, text + "changed":
            self.write("text.txt", content)
            self.exprun("tiny.toml", "steps=2", "schedule.type=constant", "--new")
            self.exprun("resume", "@last", "run.steps=3")
        (self.folder / "text.txt").unlink()
        said = self.exprun("tiny.toml", "steps=2", "schedule.type=constant").err
        self.assertIn("warning: the data that the recipe names cannot be read, so nothing tells whether this run was trained on it", said)
        self.assertIn("the run of this recipe, was continued with run.steps: 3 (was 2); --new trains the recipe as written\n", said)

    def test_a_large_text_that_was_edited_is_told_by_its_size(self):
        small = (self.folder / "text.txt").read_text()
        self.write("text.txt", small * (1 + (17 << 20) // len(small)))
        words = ("steps=2", "tokenizer=byte", "evaluation.val_loss.tokens=64")
        self.exprun("tiny.toml", *words)
        other = "the data that the recipe names is not what "
        self.assertNotIn(other, self.exprun("tiny.toml", *words).err)
        with open(self.folder / "text.txt", "a") as text:
            text.write("!")
        self.assertIn(other + "this run was trained on; --new trains on it\n", self.exprun("tiny.toml", *words).err)
        self.assertIn(other + "a trial was trained on (", self.exprun("sweep", "tiny.toml", *words, "lr=1e-2,3e-2", "--dry-run").err)

    def test_a_newer_run_on_other_data_is_not_meant_however_it_ended(self):
        text = (self.folder / "text.txt").read_text()
        self.exprun("tiny.toml", "steps=2")
        first = self.run_folder().name
        self.write("text.txt", text + "changed")
        self.exprun("tiny.toml", "steps=2", "--new")
        self.write("text.txt", text)
        for state in ("interrupted", "failed", "diverged", "killed"):
            with self.subTest(state=state):
                self.change_store(("UPDATE attempt SET state = ? WHERE run = 2", (state,)))
                shown = self.exprun("tiny.toml", "steps=2")
                self.assertTrue(shown.out.startswith(f"{first}: finished\n"), shown.out)
                self.assertEqual(shown.err, "exprun: nothing to do: this recipe has been run; --new runs it again\n")
        self.change_store("UPDATE attempt SET state = 'finished' WHERE run = 2")
        (self.folder / "runs" / first).rename(self.folder / "elsewhere")  # then the one that is here is meant
        self.assertIn("the data that the recipe names is not what this run was trained on", self.exprun("tiny.toml", "steps=2").err)

    def test_data_whose_preparation_tells_that_they_were_brought_back(self):
        """Of token shards, which nothing prepares."""
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=byte", "--out", "first")
        self.write("text.txt", (self.folder / "text.txt").read_text()[::-1])
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=byte", "--out", "second")
        words = ("tiny.toml", "steps=2", "dataset={type='token_shards', train='tokens/train*', validation='tokens/val*', tokenizer='prepared'}")
        link = self.folder / "tokens"
        link.symlink_to("first")
        self.exprun(*words)
        link.unlink()
        link.symlink_to("second")
        self.exprun(*words, "--new")
        link.unlink()
        link.symlink_to("first")
        self.change_store("UPDATE attempt SET state = 'interrupted' WHERE run = 2")
        ((first,),) = self.rows("SELECT folder FROM runs WHERE run = 1")
        self.assertTrue(self.exprun(*words).out.startswith(f"{first}: finished\n"))

    def test_a_changed_recipe_is_a_new_run_that_says_what_differs(self):
        self.exprun("tiny.toml")
        result = self.exprun("tiny.toml", "lr=2e-2")
        self.assertIn("optimizer.lr", result.err)
        self.assertEqual(self.rows("SELECT count(DISTINCT recipe_hash) FROM runs"), [(2,)])

    def test_a_name_of_a_finished_run_is_said_to_mean_an_unfinished_one_too(self):
        self.exprun("tiny.toml", "max_minutes=1e-5", code=75)
        unfinished, (step,) = self.run_folder().name, self.rows("SELECT last_step FROM runs")[0]
        self.exprun("tiny.toml", "seed=2", "steps=2")
        done = "exprun: nothing to do: the run is finished"
        self.assertEqual(self.exprun("resume", "tiny").err.splitlines()[-1],
                         f"{done}; `exprun resume {unfinished}` continues another run of this name, which stopped at step {step}")
        self.assertEqual(self.exprun("resume", "@last").err.splitlines()[-1], done)
        shutil.move(self.folder / "runs" / unfinished, self.folder / "away")
        self.assertEqual(self.exprun("resume", "tiny").err.splitlines()[-1], done)
        shutil.move(self.folder / "away", self.folder / "runs" / unfinished)
        self.exprun("resume", unfinished, "max_minutes=10")
        self.assertEqual(self.exprun("resume", "tiny").err.splitlines()[-1], done)

    def test_a_resume_says_that_the_recipe_has_changed(self):
        self.exprun("tiny.toml", "steps=2")
        name = self.run_folder().name
        said = f"exprun: {name} keeps its own recipe, from which tiny.toml differs by now:\n  optimizer.lr: 0.01 -> 0.02\n"
        recipe = (self.folder / "tiny.toml").read_text()
        changed = recipe.replace("1e-2", "2e-2").replace("steps = 40", "steps = 80")
        for text, is_said in (("# a remark\n" + recipe, False), (changed, True), (changed + "[schedule]", False),
                              (recipe.replace("1e-2", "-1"), False)):
            self.write("tiny.toml", text)
            self.assertEqual(said in self.exprun("resume", name).err, is_said)
        self.write("tiny.toml", changed)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.assertIn(said, self.exprun("resume", name, "run.steps=4", "--store", "../runs", cwd=elsewhere).err)
        self.assertEqual(self.last_step(), 4)

    def test_a_run_is_warned_of_its_recipe_once(self):
        warning = "warning: 'checkpoint.every' is longer than the run\n"
        self.assertIn(warning, self.exprun("tiny.toml", "steps=2", "checkpoint.every=100 steps").err)
        for words in ("resume", "@last"), ("eval", "@last"), ("sample", "@last", "tokens=1"):
            self.assertNotIn("warning", self.exprun(*words).err)
        self.assertIn(warning, self.exprun("resume", "@last", "run.steps=6", "checkpoint.every=50 steps").err)

    def test_a_recipe_from_a_stream_has_not_changed(self):
        recipe = (self.folder / "tiny.toml").read_text()
        self.exprun("/dev/stdin", "steps=2", stdin=recipe)
        said = self.exprun("resume", "@last", stdin=recipe.replace("1e-2", "2e-2")).err
        self.assertNotIn("differs by now", said)

    def test_keys_that_make_no_other_recipe_are_for_the_next_run(self):
        self.exprun("tiny.toml", "steps=2")
        said = self.exprun("tiny.toml", "steps=2", "metrics.timers=true", 'run.tags=["a"]').err
        self.assertTrue(said.endswith("nothing to do: this recipe has been run; --new runs it again, with metrics.timers: true (was false)\n"), said)
        self.exprun("tiny.toml", "steps=3", "parallelism.world_size=2")
        said = self.exprun("tiny.toml", "steps=3").err
        self.assertTrue(said.endswith("; --new runs it again, with parallelism.world_size: \"auto\" (was 2)\n"), said)
        self.assertTrue(self.exprun("tiny.toml", "steps=3", "parallelism.world_size=2").err.endswith("; --new runs it again\n"))

    def test_equal_recipes_train_to_equal_bits(self):
        self.exprun("tiny.toml")
        self.exprun("tiny.toml", "--new")
        self.assertGreater(len(self.series(1)), 100)
        self.assertEqual(self.series(1), self.series(2))

    def test_a_recipe_that_this_version_reads_otherwise(self):
        self.exprun("tiny.toml", "steps=1")
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as db, db:
            db.execute("UPDATE run SET recipe_hash = 'of another version'")
        result = self.exprun("resume", "@last", code=2)
        self.assertRegex(result.err, r"^exprun: error: resume: this version of exprun understands the recipe of tiny-\w{8} differently; "
                         r"continue the run with the version that started it, or run the recipe again\n$")

    def test_the_store_may_be_elsewhere(self):
        self.exprun("--store", "elsewhere", "tiny.toml")
        self.assertEqual(self.rows("SELECT state FROM runs", store="elsewhere"), [("finished",)])
        self.assertFalse((self.folder / "runs").exists())

    def test_a_sweep_runs_each_combination_once(self):
        self.exprun("sweep", "tiny.toml", "lr=1e-3,1e-2", "seed=1,2")
        self.assertEqual(self.rows("SELECT count(*), count(DISTINCT recipe_hash) FROM runs WHERE state = 'finished'"),
                         [(4, 4)])
        self.exprun("sweep", "tiny.toml", "lr=1e-3,1e-2", "seed=1,2")
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(4,)])
        report = self.exprun("report", "--csv").out
        self.assertEqual(len(report.splitlines()), 5, report)
        self.assertIn("lr", report.splitlines()[0])

    def test_every_shipped_recipe_passes_check(self):
        for recipe in sorted((ROOT / "recipes").glob("*.toml")):
            with self.subTest(recipe=recipe.name):
                self.exprun("check", os.path.relpath(recipe, ROOT), cwd=ROOT)

    def test_check_says_that_a_run_would_not_start_on_this_machine(self):
        checked = self.exprun("check", "tiny.toml", "compute=tf32", "device=cpu")
        self.assertIn("warning: TF32 exists only on GPUs, but this run would train on the CPU\n", checked.err)
        self.assertIn("tiny.toml: no mistakes, but a run would not start here (--strict makes that an error)\n", checked.out)
        self.exprun("tiny.toml", "compute=tf32", "device=cpu", code=2)

    def test_a_run_that_needs_more_memory_than_there_is_does_not_start(self):
        state = "<override 1>:1:19: {}: weights, gradients, optimizer and a copy for checkpoints take "
        for words, message in ((("hidden_size=1000000",), state),
                               (("sequences=1000000000", "micro_batch=1000000000"), ":19: {}: the run takes about ")):
            with self.subTest(words=words):
                checked = self.exprun("check", "tiny.toml", *words)
                self.assertIn(message.format("warning").replace(":19:", ":13:"), checked.err)
                self.assertIn("tiny.toml: no mistakes, but a run would not start here (", checked.out)
                self.assertIn(message.format("error"), self.exprun("tiny.toml", *words, code=2).err)
        self.assertEqual(self.rows("SELECT DISTINCT state, last_step FROM runs"), [("failed", 0)])

    def test_weights_to_begin_with_that_are_not_there_stop_a_run_before_it_begins(self):
        self.exprun("tiny.toml", "steps=2")
        run = self.run_folder()
        message = ("'nothing' does not exist\n    init_from=nothing\n              ^^^^^^^ it takes a HuggingFace folder, a file of "
                   "weights, a checkpoint, a run in the store 'runs' (exprun ls), @last or @best; without it, weights are random\n")
        said = self.exprun("tiny.toml", "seed=5", "init_from=nothing", code=2).err
        self.assertEqual(said, f"<override 2>:1:11: error: {message}")
        checked = self.exprun("check", "tiny.toml", "init_from=nothing")
        self.assertIn(f"<override 1>:1:11: warning: {message}", checked.err)
        self.assertIn("tiny.toml: no mistakes, but a run would not start here (--strict makes that an error)\n", checked.out)
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(1,)])
        weights = self.folder / "runs" / run.name / "checkpoints/step_00000002"
        self.exprun("tiny.toml", "steps=3", "seed=5", f"init_from={weights.relative_to(self.folder)}", "checkpoint.every=1 steps")
        shutil.rmtree(weights)
        self.exprun("resume", "@last", "run.steps=4")  # it needs them no more

    def test_a_run_to_begin_with_is_its_checkpoint(self):
        self.exprun("tiny.toml", "lr=3e-2", "steps=6", "checkpoint.every=2 steps", "keep_last=9")
        run = self.run_folder()
        newest = f"runs/{run.name}/checkpoints/step_00000006"
        for words in run.name, f"runs/{run.name}", "tiny", "@last", "@best":
            with self.subTest(words=words):
                said = self.exprun("check", "tiny.toml", f"init_from={words}")
                self.assertEqual(said.err, f"exprun: init_from: {words} is {newest}\n")
        self.exprun("tiny.toml", "steps=1", "name=warm", f"init_from={run.name}")
        self.assertEqual(self.rows("SELECT toml FROM parameters JOIN runs USING (run) WHERE path = 'model.init_from' "
                                   "AND runs.name = 'warm'"), [(f'"{newest}"',)])

    def test_the_same_line_begins_with_the_same_checkpoint_again(self):
        self.exprun("tiny.toml", "steps=6")
        for number, words in enumerate(("@last", "@best", "tiny"), start=1):
            with self.subTest(words=words):
                line = ("tiny.toml", "steps=3", f"init_from={words}", f"seed={number}")
                began = self.exprun(*line).err
                self.assertIn(f"exprun: init_from: {words} is ", began)
                self.assertEqual(self.exprun(*line).err.splitlines()[0], began.splitlines()[0])
                self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(2 * number,)])
                self.assertNotEqual(self.exprun(*line, "--new").err.splitlines()[0], began.splitlines()[0])


if __name__ == "__main__":
    unittest.main()
