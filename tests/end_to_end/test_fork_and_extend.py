"""A run trains on with another length, or another run begins from one of its checkpoints."""
import contextlib
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import struct
import unittest

from support import ExprunTest, children, fixture, tensors

FILES = ("model.safetensors", "optimizer.safetensors")


class LaterTraining(ExprunTest):
    def losses(self, run, store="runs", after=0):
        return self.rows(f"SELECT step, value FROM metrics WHERE name = 'train/loss' AND step > {after} "
                         f"AND run = (SELECT run FROM runs WHERE folder = '{run.name}') ORDER BY step", store=store)

    def newest(self, store="runs"):
        ((folder,),) = self.rows("SELECT folder FROM runs ORDER BY run DESC LIMIT 1", store=store)
        return self.folder / store / folder

    def assert_same_end(self, a, b, step):
        for name in FILES:
            one, other = (run / f"checkpoints/step_{step:08d}" / name for run in (a, b))
            self.assertEqual(tensors(one), tensors(other), name)

    def refused(self, *words, code=2):
        runs, folders = self.rows("SELECT * FROM runs"), set((self.folder / "runs").iterdir())
        result = self.exprun(*words, code=code)
        self.assertEqual(self.rows("SELECT * FROM runs"), runs)
        self.assertEqual(set((self.folder / "runs").iterdir()), folders)
        return result.err


class Extend(LaterTraining):
    def assert_equals_a_longer_run(self, steps, *changes):
        self.exprun("--store", "whole", "tiny.toml", f"steps={steps}", *changes)
        run, whole = self.newest(), self.newest("whole")
        self.assertEqual(self.losses(run), self.losses(whole, "whole"))
        self.assert_same_end(run, whole, steps)
        columns = "SELECT recipe_hash, steps, state, last_step FROM runs"
        self.assertEqual(self.rows(columns), self.rows(columns, store="whole"))
        parameters = "SELECT path, toml, changed FROM parameters ORDER BY path"
        self.assertEqual(self.rows(parameters), self.rows(parameters, store="whole"))

    def test_a_finished_run_trains_on_as_if_it_had_been_longer(self):
        self.exprun("tiny.toml", "steps=20")
        ((before,),) = self.rows("SELECT recipe_hash FROM runs")
        said = self.exprun("resume", "@last", "run.steps=50").err
        self.assertIn(" (finished) from step 20 of 50 steps\n", said)
        self.assert_equals_a_longer_run(50)
        shown = self.exprun("show", "@last").out
        self.assertIn(f"# extended    by attempt 2 from step 20; before, its recipe was {before}\n", shown)
        self.assertIn("\nsteps = 50\n", shown)
        details = json.loads(self.exprun("show", "@last", "--json").out)
        self.assertEqual([attempt["recipe_hash"] for attempt in details["attempts"]], [before, details["hash"]])
        self.assertIn("nothing to do: the run is finished", self.exprun("resume", "@last").err)
        self.exprun("resume", "@last", "length=70 steps", "~steps")
        self.assertEqual(self.rows("SELECT steps, last_step, state, attempt FROM runs"), [(70, 70, "finished", 3)])

    def test_the_recipe_of_a_run_that_was_extended_has_been_run(self):
        self.exprun("tiny.toml", "steps=20")
        name = self.newest().name
        self.exprun("resume", "@last", "run.steps=50")
        result = self.exprun("tiny.toml", "steps=20")
        self.assertTrue(result.out.startswith(f"{name}: finished\n"), result.out)
        for command in (("tiny.toml", "steps=20"), ("resume", "@last")):
            quiet = self.exprun(*command, "-q")
            self.assertEqual((quiet.out, quiet.err), ("", ""))
        self.assertEqual(result.err, f"exprun: nothing to do: {name}, the run of this recipe, was continued with run.steps: 50 (was 20); --new trains the "
                                     "recipe as written\n")
        self.exprun("resume", "@last", "run.steps=80", "max_minutes=1e-6", code=75)
        self.assertRegex(self.refused("tiny.toml", "steps=20", code=1),
                         rf"exprun: error: launch: {name} is this recipe's run, continued with run\.steps: 80 \(was 20\), and it was preempted at step 5\d\n"
                         rf"  exprun resume {name}   continues it from its newest checkpoint\n  --new   starts another run\n")
        self.exprun("tiny.toml", "steps=20", "--new")
        self.assertEqual(self.rows("SELECT steps FROM runs ORDER BY run"), [(80,), (20,)])
        self.assertIn("nothing to do: this recipe has been run", self.exprun("tiny.toml", "steps=20").err)
        self.exprun("rm", "@last")
        self.exprun("sweep", "tiny.toml", "steps=20,21")
        self.assertEqual(self.rows("SELECT steps FROM runs ORDER BY steps"), [(20,), (21,), (80,)])

    def test_a_schedule_that_decays_must_keep_the_rates_of_the_steps_so_far(self):
        self.exprun("tiny.toml", "steps=20", "schedule.type=cosine")
        name = self.newest().name
        said = self.refused("resume", "@last", "run.steps=40")
        cannot = (f"exprun: error: resume: {name} cannot be extended to 40 steps: its schedule depends on its length; from "
                  "step 2 on, its learning rates would have been different\n  ")
        fork = "`exprun fork NAME run.steps=40` starts a new run from here with the new schedule\n"
        self.assertEqual(said, cannot + "after its last step, its learning rate is 0; " + fork.replace("NAME", name))
        self.exprun("resume", name, "run.steps=40", 'schedule.decay_until="20 steps"')
        self.assert_equals_a_longer_run(40, "schedule.type=cosine", "schedule.decay_until=20 steps")
        self.exprun("tiny.toml", "steps=20", "schedule.type=cosine", "min_lr_factor=0.1", "name=floor")
        floor = self.newest().name
        self.assertEqual(self.refused("resume", "floor", "run.steps=40"),
                         cannot.replace(name, floor) + f"`exprun resume {floor} run.steps=40 "
                         "'schedule.decay_until=\"20 steps\"'` keeps the rates so far and trains on at the last one; " +
                         fork.replace("NAME", floor))
        said = self.refused("--store", "./runs", "resume", "floor", "run.steps=40")
        self.assertEqual(said.count(" --store ./runs` "), 2, said)

    def test_what_follows_from_the_length_is_that_of_the_new_length_from_then_on(self):
        self.exprun("tiny.toml", "steps=20")
        self.exprun("resume", "@last", "run.steps=50")
        steps = self.rows("SELECT step FROM metrics WHERE name = 'val/loss' ORDER BY step")
        self.assertEqual([step for step, in steps], [*range(0, 21, 2), *range(25, 51, 5)])

    def test_before_its_decay_wsd_may_become_longer(self):
        words = ("schedule.type=wsd", "checkpoint.every=50 steps")
        process = self.start("tiny.toml", "steps=3000", *words)
        self.wait_for_step(60, process)
        process.terminate()
        self.assertEqual(self.finish(process).code, 143)
        self.assertLess(self.last_step(), 2400)
        self.exprun("resume", "@last", "run.steps=3500")
        self.assert_equals_a_longer_run(3500, *words)

    def test_what_has_been_trained_cannot_be_taken_back(self):
        self.exprun("tiny.toml", "steps=20")
        self.assertEqual(self.refused("resume", "@last", "run.steps=15"),
                         f"exprun: error: resume: {self.newest().name} has completed 20 steps already, and 15 are asked "
                         "for; ask for more, such as run.steps=40\n")

    def test_an_extension_whose_attempt_never_began_is_none(self):
        self.exprun("tiny.toml", "steps=20")
        file = self.newest() / "recipe.json"
        recipe = json.loads(file.read_text())
        recipe["overrides"] = ["run.steps=30"]
        file.write_text(json.dumps(recipe))
        self.assertIn("nothing to do: the run is finished", self.exprun("resume", "@last").err)
        self.exprun("resume", "@last", "run.steps=25")
        self.assertEqual(self.rows("SELECT steps, last_step FROM runs"), [(25, 25)])


class EarlyStop(LaterTraining):
    words = ("evaluation.val_loss.every=1 step", "run.early_stop.min_delta=10.0")

    def setUp(self):
        super().setUp()
        self.exprun("tiny.toml", "run.early_stop.patience=2", *self.words)
        self.run_ = self.newest()
        self.why = "ended early at step 2: val/loss has not improved by more than 10 in 2 evaluations; its best is "

    def test_it_is_told_wherever_the_state_is(self):
        name = self.run_.name
        self.assertEqual(self.rows("SELECT state, last_step, level, kind FROM runs JOIN event USING (run) WHERE kind = 'end'"),
                         [("finished", 2, "info", "end")])
        for words in (), ("--state", "finished early"), ("--where", "state = 'finished early'"), ("--where", "state ~ *early"):
            self.assertIn("  finished early  ", self.exprun("ls", *words).out)
        self.assertEqual(self.exprun("ls", "--where", "state != 'finished early'").err, "exprun: no run matches\n")
        self.assertEqual([run["state"] for run in json.loads(self.exprun("ls", "--state", "finished", "--json").out)], ["finished"])
        shown = self.exprun("show", name).out
        self.assertRegex(shown, rf"\n# state       finished early at step 2 of \d+, exit code 0\n# because     {self.why}")
        self.assertIn("  finished early  ", self.exprun("report").out)
        self.assertIn(f"\n  because     {self.why}", self.exprun("tiny.toml", "run.early_stop.patience=2", *self.words).out)
        self.assertIn(f"{name}: finished early: {self.why[:60]}", self.exprun("watch", name, "--once").out)
        said = self.exprun("sweep", "tiny.toml", "lr=1e-2,1e-3", "run.early_stop.patience=2", *self.words).err
        self.assertRegex(said, rf"finished early, best val/loss [^\n]*: {self.why}")
        self.assertRegex(self.exprun("sweep", "show", "1").out, rf"  finished early  +2/\d+ .*{self.why}")

    def test_more_patience_continues_it_as_if_there_had_been_more_from_the_start(self):
        name = self.run_.name
        result = self.exprun("resume", "@last")
        self.assertIn(f"{name}: finished early\n  because     {self.why}", result.out)
        self.assertIn(f"nothing to do: the run ended early; `exprun resume {name} run.early_stop.patience=4` continues it\n", result.err)
        self.assertRegex(self.refused("resume", name, "run.steps=400"),
                         rf"exprun: error: resume: {name} {self.why}.*\n  more steps do not continue it; add run\.early_stop\.patience=4\n")
        self.assertIn("cannot continue with a different recipe:\n  run.early_stop.patience: 2 -> 1\n",
                      self.refused("resume", name, "run.early_stop.patience=1"))
        self.assertIn(f"continuing {name} (finished early) from step 2 of ", self.exprun("resume", name, "run.early_stop.patience=5").err)
        self.exprun("--store", "whole", "tiny.toml", "run.early_stop.patience=5", *self.words)
        self.assertEqual(self.losses(self.run_), self.losses(self.newest("whole"), "whole"))
        self.assert_same_end(self.run_, self.newest("whole"), 5)
        columns = "SELECT recipe_hash, state, last_step, message FROM runs"
        self.assertEqual(self.rows(columns), self.rows(columns, store="whole"))

    def test_a_run_of_an_older_version_that_recorded_no_reason(self):
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as database, database:
            database.execute("UPDATE attempt SET message = ''")
        self.assertIn("  finished early  ", self.exprun("ls").out)
        self.assertIn(" ended early at step 2\n  more steps do not continue it; add run.early_stop.patience=4\n",
                      self.refused("resume", "@last", "run.steps=80"))

    def test_it_is_evaluated_at_its_end(self):
        self.exprun("tiny.toml", "run.early_stop.patience=3", *self.words, "evaluation.perplexity.path=text.txt",
                    "evaluation.perplexity.every=10 steps", "evaluation.sample.tokens=5")
        self.assertEqual(self.rows("SELECT step FROM metrics WHERE name = 'perplexity/loss' ORDER BY step"), [(0,), (3,)])
        self.assertEqual([file.name[-12:] for file in (self.newest() / "samples").iterdir()], ["00000003.txt"])

    def test_without_early_stopping_it_trains_to_its_end(self):
        self.exprun("resume", "@last", "~run.early_stop", "run.steps=8")
        self.assertEqual(self.rows("SELECT state, last_step, message FROM runs"), [("finished", 8, "")])


class Fork(LaterTraining):
    def test_a_text_that_was_edited_is_a_difference(self):
        self.exprun("tiny.toml", "steps=2")
        origin = self.newest().name
        text = (self.folder / "text.txt").read_text()
        self.write("text.txt", text[:-40])
        changed = "data: text.txt has changed since\n"
        warning = f"exprun: warning: new run; differs from {origin}: "
        self.assertIn(f"{warning}run.steps: 3 (was 2), {changed}", self.exprun("fork", origin, "steps=3").err)
        self.assertIn(warning + changed, self.exprun("rerun", origin).err)
        self.assertEqual(self.exprun("rerun", origin, "-q").err, warning + changed)
        rerun = self.newest().name
        self.assertEqual(self.exprun("rerun", rerun, "-q", "lr=1e-3", "validation_fraction=0.2").err, "")
        self.exprun("sweep", "tiny.toml", "lr=1e-3,1e-4", "steps=2")  # trials, which nobody had in mind
        self.assertIn(f"new run; differs from {rerun}: run.steps: 4 (was 2)\n", self.exprun("tiny.toml", "steps=4").err)
        self.write("text.txt", text + "~~~~~~~~")
        said = self.refused("fork", origin, "steps=3")
        self.assertIn(f"fork: the checkpoint of step 2 of {origin} does not fit the changed data:\n  {changed}parameters:\n", said)
        weights = f"runs/{origin}/checkpoints/step_00000002/"
        for start in (origin, weights, f'"${{env:NOT_SET:{weights}}}"'):
            said = self.refused("tiny.toml", "steps=1", "warmup=0 steps", f"init_from={start}")
            self.assertRegex(said, r"\n  text\.txt has changed since they were trained\n")
        self.assertRegex(self.refused("resume", origin, "steps=3", code=1), r"\(fingerprint \w{8}, now \w{8}; text\.txt has changed since\)")

    def test_a_text_that_is_gone_is_not_needed_while_its_tokens_are_there(self):
        self.exprun("tiny.toml", "steps=2")
        origin = self.newest().name
        (self.folder / "text.txt").unlink()
        for command in ["fork", origin, "steps=3"], ["rerun", origin], ["rerun", origin, "seed=2"]:
            self.assertIn(f"exprun: warning: data: text.txt is gone; training uses the prepared tokens of {origin}\n", self.exprun(*command).err)
            self.assertEqual(self.state(), "finished")
        missing = ": error: 'text.txt' does not exist\n"
        for command in "fork", "rerun":
            self.assertIn(missing, self.refused(command, origin, "steps=4", "validation_fraction=0.2"))
        shutil.rmtree(self.folder / "runs/data")
        for command in "fork", "rerun":
            self.assertIn(missing, self.refused(command, origin, "steps=5"))

    def test_of_a_glob_a_file_may_be_gone_and_a_new_one_is_read(self):
        (self.folder / "texts").mkdir()
        for name in "ab":
            shutil.copy(self.folder / "text.txt", self.folder / f"texts/{name}.txt")
        self.exprun("tiny.toml", "path='texts/*.txt'", "steps=2")
        origin = self.newest().name
        kept = (self.folder / "texts/b.txt").rename(self.folder / "kept.txt")
        for command in ["fork", origin, "steps=3"], ["rerun", origin]:
            self.assertIn(f"exprun: warning: data: texts/b.txt is gone; training uses the prepared tokens of {origin}\n",
                          self.exprun(*command).err)
        kept.rename(self.folder / "texts/b.txt")
        shutil.copy(self.folder / "text.txt", self.folder / "texts/c.txt")
        for command, differs in (["fork", origin, "steps=4"], "run.steps: 4 (was 2), "), (["rerun", origin], ""):
            self.assertIn(f"new run; differs from {origin}: {differs}data: texts/c.txt is new\n", self.exprun(*command).err)

    def test_a_file_that_changed_is_named_as_the_run_read_it(self):
        text = (self.folder / "text.txt").read_text()
        self.exprun("tiny.toml", "steps=1")
        self.write("copy.txt", text)  # the data are prepared already, of text.txt
        self.exprun("tiny.toml", "path=copy.txt", "steps=2")
        origin = self.newest().name
        self.write("copy.txt", text + "~~~~~~~~")
        differ = f"fork: the checkpoint of step 2 of {origin} does not fit the changed data:\n  data: WHAT\nparameters:\n"
        self.assertIn(differ.replace("WHAT", "copy.txt has changed since"), self.refused("fork", origin, "steps=3"))
        (self.folder / "runs" / origin / "data.json").unlink()  # no file is known to have changed
        said = self.refused("fork", origin, "steps=3")
        self.assertIn(differ.replace("WHAT", "its content differs"), said)
        self.assertTrue(said.endswith("\na fork keeps the model\n"), said)

    def test_a_fork_is_another_experiment_than_a_run_with_its_recipe(self):
        self.exprun("tiny.toml", "steps=10")
        origin = self.newest().name
        self.exprun("fork", origin, "steps=14")
        fork = self.newest().name
        self.assertEqual(self.refused("fork", fork, "--step", "10"), f"exprun: error: fork: {fork} has no checkpoint "
                         f"of step 10; it has those of steps 13 and 14; another run named tiny, {origin}, has those of steps 9 and 10\n")
        self.exprun("sweep", "tiny.toml", "steps=14", "seed=7,1337")
        fresh = self.newest().name
        self.assertNotEqual(fresh, fork)
        rows = json.loads(self.exprun("report", "--where", "steps=14", "--json").out)
        self.assertEqual(len(rows), 3)
        self.assertEqual({row["run"]: row["origin"] for row in rows if row["origin"]}, {fork: f"step 10 of {origin}"})
        groups = json.loads(self.exprun("report", "--over-seeds", "--where", "steps=14", "--json").out)
        self.assertEqual(sorted(group["runs"] for group in groups), [1, 2])
        self.assertIn(f"step 10 of {origin}", self.exprun("compare", fork, fresh).out)

    def test_weights_that_know_other_characters_are_told(self):
        self.exprun("tiny.toml", "steps=2")
        text = (self.folder / "text.txt").read_text()
        self.write("other.txt", text.replace("l", "~"))
        self.write("more.txt", text + "~~~~~~~~")
        said = (f"stand for others: what the model has learned of its tokens is lost; a new run with model.init_from={self.newest().name} "
                "matches tokens by their text\n")
        self.assertIn(said, self.exprun("fork", "@last", "path=other.txt", "steps=3", "evaluation.sample.prompt=e").err)
        start = ("steps=1", "warmup=0 steps", "init_from=1", "evaluation.sample.prompt=e")
        matched = r"\(exprun\); tokens are matched by their text: (\d+) of (\d+) kept, (\d+) new\n"
        kept, theirs, new = map(int, re.search(matched, self.exprun("tiny.toml", "path=other.txt", *start).err).groups())
        self.assertEqual((kept, new), (theirs - 1, 1))
        self.assertNotIn("matched", self.exprun("tiny.toml", *start).err)
        self.assertNotIn("matched", self.exprun("tiny.toml", "path=more.txt", "init_resize_vocabulary=true", *start).err)

    def test_an_alphabet_may_grow_in_its_middle(self):
        text = (self.folder / "text.txt").read_text()
        self.write("more.txt", text[:2000] + "2 + 2 came home.\n" + text[2000:])
        data = ("tiny.toml", "validation=text.txt")
        self.exprun(*data, "name=before")
        before = self.newest().name
        more = ("path=more.txt", "steps=80")
        said = self.refused("fork", before, *more)
        self.assertTrue(said.endswith("\na fork keeps the model; for a new run that begins with all weights and adds rows for the "
                                      f"new tokens, add model.init_from={before} model.init_resize_vocabulary=true to the "
                                      "command that runs the recipe\n"), said)
        start = (*data, *more, "name=after", f"model.init_from={before}", "model.init_resize_vocabulary=true")
        self.assertRegex(self.exprun(*start).err, r"; tokens are matched by their text: (\d+) of \1 kept, 1 new\n")
        ((first,), (last,)) = self.rows("SELECT value FROM metrics JOIN runs USING (run) WHERE metrics.name = 'val/loss' AND "
                                        "((runs.name = 'before' AND step = 40) OR (runs.name = 'after' AND step = 0)) ORDER BY run")
        self.assertAlmostEqual(first, last, delta=0.05)
        file = f"model.init_from=runs/{before}/checkpoints/step_00000040/model.safetensors"
        self.assertRegex(self.exprun(*start, file, "name=of_file").err, r"; tokens are matched by their text: (\d+) of \1 kept, 1 new\n")
        self.exprun(*start, "--new", "world_size=2")
        ((one,), (two,)) = self.rows("SELECT value FROM metrics JOIN runs USING (run) WHERE runs.name = 'after' AND "
                                     "metrics.name = 'val/loss' AND step = 0")
        self.assertAlmostEqual(one, two, places=5)

    def test_an_alphabet_may_lose_a_letter(self):
        text = (self.folder / "text.txt").read_text()
        self.write("fewer.txt", text.replace("l", ""))
        self.exprun("tiny.toml", "name=before")
        before = self.newest().name
        start = ("tiny.toml", "path=fewer.txt", "steps=2", "warmup=0 steps", "name=after", f"model.init_from={before}",
                 "evaluation.sample.prompt=e")
        advice = "\n  model.init_resize_vocabulary = true takes the tokens that the data has, matched by their text\n"
        for command in ("check", *start), start:
            said = self.exprun(*command, "model.lora.rank=4", code=2).err
            self.assertIn(advice, said)
            self.assertNotIn("lora.rank is", said)
        self.assertIn("model.init_resize_vocabulary=true", self.refused("fork", before, "path=fewer.txt", "steps=80"))
        self.exprun("check", *start, "model.init_resize_vocabulary=true")
        said = self.exprun(*start, "model.init_resize_vocabulary=true").err
        kept, theirs, new = map(int, re.search(r"their text: (\d+) of (\d+) kept, (\d+) new\n", said).groups())
        self.assertEqual((kept, new), (theirs - 1, 0))
        tensors = (f"model.init_from=runs/{before}/checkpoints/step_00000040/model.safetensors", "model.init_resize_vocabulary=true")
        (self.folder / "runs" / before / "data.json").unlink()
        self.assertIn("tokens can be left out only if the tokenizer of the weights", self.exprun(*start, *tensors, code=2).err)

    def test_tokens_that_cannot_be_read_are_not_taken_by_their_numbers(self):
        for name in "vocab.bpe", "encoder.json":
            shutil.copy(fixture(self, f"data/{name}"), self.folder)
        self.exprun("tiny.toml", "name=before", "steps=1", "tokenizer=gpt2", "vocabulary=.")
        before = self.newest().name
        self.exprun("export", before, "--huggingface", "folder")
        for file in (self.folder / "folder").glob("*vocab*"), (self.folder / "folder").glob("merges*"):
            for each in file:
                each.unlink()
        self.write("folder/tokenizer.json", '{"model": {"type": "Unigram", "vocab": [["a", 0.0]]}}')
        shutil.rmtree(self.folder / "runs" / "data")
        for weights, why in (before, "vocabulary"), ("folder", "not the tokenizer.json of a BPE"):
            start = ("tiny.toml", "name=after", "steps=1", f"model.init_from={weights}")
            for command in ("check", *start), start, (*start, "model.init_resize_vocabulary=true"):
                said = self.exprun(*command, code=2).err
                self.assertRegex(said, "tokens can be left out only if the tokenizer of the weights .*\\(.*" + why)
                self.assertNotIn("init_resize_vocabulary = true", said)

    def test_weights_of_another_model_with_the_same_tensors_are_told(self):
        self.exprun("tiny.toml", "steps=2")
        said = (r"with model.num_heads = \d+, not 1\n    num_heads=1\n              \^ "
                "with another value the same weights compute something else\n")
        self.assertRegex(self.exprun("fork", "@last", "steps=3", "num_heads=1").err, "<override 2>:1:11: warning: .*" + said)
        start = ("steps=1", "warmup=0 steps", "init_from=1", "num_heads=1")
        self.assertRegex(self.exprun("tiny.toml", *start).err, said)
        self.assertRegex(self.exprun("check", "tiny.toml", *start).err, said)
        self.assertNotIn("warning", self.exprun("fork", "2", "steps=3", "dropout=0.1").err)

    def setUp(self):
        super().setUp()
        self.exprun("tiny.toml", "steps=40", "checkpoint.every=10 steps", "keep_last=20")
        self.origin = self.newest()

    def test_without_changes_a_fork_gives_the_losses_of_its_origin(self):
        self.exprun("fork", "@last", "--step", "20")
        fork = self.newest()
        self.assertNotEqual(fork, self.origin)
        self.assertEqual(self.losses(fork), self.losses(self.origin, after=20))
        self.assert_same_end(fork, self.origin, 40)
        evaluations = "SELECT step, value FROM metrics WHERE name = 'val/loss' AND step > 20 AND run = {} ORDER BY step"
        self.assertEqual(self.rows(evaluations.format(2)), self.rows(evaluations.format(1)))

    def test_it_is_told_apart_from_its_origin(self):
        self.exprun("tiny.toml", "steps=41", "lr=0.5")
        said = f"exprun: new run; differs from {self.origin.name}: run.steps: 44 (was 40)\n"
        self.assertIn(said, self.exprun("fork", self.origin.name, "run.steps=44").err)
        self.assertIn(f"exprun: new run, with the same settings as {self.origin.name}\n", self.exprun("rerun", self.origin.name).err)

    def test_where_it_comes_from_is_shown(self):
        self.exprun("fork", self.origin.name, "--step", "20", "lr=1e-3", "run.steps=30")
        fork = self.newest()
        self.assertEqual([step for step, _ in self.losses(fork)], list(range(21, 31)))
        self.assertNotEqual(self.losses(fork)[1:], self.losses(self.origin, after=20)[1:10])
        self.assertIn(f"# forked at   step 20 of {self.origin.name}\n"
                      f"# fork again  run from a file, this recipe begins at step 0; `exprun rerun {fork.name}` forks again\n",
                      self.exprun("show", "@last").out)
        self.assertNotIn("# fork again", self.exprun("show", self.origin.name).out)
        self.assertIn(f"step 20 of {self.origin.name}", self.exprun("ls").out.splitlines()[1])
        details = json.loads(self.exprun("show", "@last", "--json").out)
        (origin,) = [row["uid"] for row in map(json.loads, [self.exprun("show", "1", "--json").out])]
        self.assertEqual(details["origin"], {"run": origin, "folder": self.origin.name, "step": 20, "fresh_optimizer": False,
                                             "recipe_hash": self.rows("SELECT recipe_hash FROM runs WHERE run = 1")[0][0]})
        self.assertEqual(details["attempts"][0]["from_step"], 20)

    def test_a_model_of_another_shape_is_refused_with_every_difference(self):
        said = self.refused("fork", "@last", "hidden_size=32", "run.steps=50")
        self.assertIn(f"exprun: error: fork: the checkpoint of step 40 of {self.origin.name} does not fit the changed recipe:\n"
                      "  model.hidden_size: 16 -> 32\nparameters:\n  ", said)
        self.assertRegex(said, r"\n  \S+: \[\d+, 32\] in the recipe, \[\d+, 16\] in the checkpoint\n")
        self.assertRegex(said, r"\n  and \d+ more\na fork keeps the model\n\Z")  # init_partial takes no other shape
        said = self.refused("fork", "@last", "num_layers=2", "run.steps=50")
        self.assertRegex(said, r"\n  blocks\.1\.\S+: \[\d+(, \d+)*\] in the recipe, not in the checkpoint\n")
        self.assertRegex(said, r"\na fork keeps the model; for a new run that begins with the weights that fit, add "
                               rf"model\.init_from={self.origin.name} model\.init_partial=true to the command that runs the recipe\n\Z")
        self.exprun("tiny.toml", "num_layers=2", f"model.init_from={self.origin.name}", "model.init_partial=true", "steps=1")

    def test_a_refused_resume_offers_no_fork_that_is_refused_too(self):
        for change in "num_layers=2", "context_length=8", "tokenizer=byte", "dataset.path=other.txt", "precision.parameters=bf16", \
                "precision.embedding=bf16":
            said = self.refused("resume", "@last", change)
            self.assertIn("; `exprun rerun ", said)
            self.assertNotIn("exprun fork", said)
        for shorter in "steps=2", "run.length=2 steps":
            self.assertNotIn("exprun fork", self.refused("resume", "@last", "lr=0.1", shorter))

    def test_the_fork_that_a_refused_resume_offers(self):
        name = self.origin.name
        (words,) = re.findall(r"`exprun (fork .*?)`", self.refused("resume", name, "optimizer.type=sgd"))
        self.exprun(*words.split())
        (words,) = re.findall(r"`exprun (fork .*?)`", self.refused("resume", name, 'optimizer.frozen=["token_embedding.*"]'))
        self.assertIn("--fresh-optimizer", self.refused(*shlex.split(words)))  # which a fork knows, and a resume does not

    def test_other_weights_than_those_of_the_checkpoint_are_refused(self):
        name, weights = self.origin.name, f"model.init_from=runs/{self.origin.name}/checkpoints/step_00000010"
        self.assertEqual(self.refused("fork", "@last", weights, "run.steps=50"),
                         "exprun: error: fork: a fork begins with the weights of its checkpoint, so model.init_from has no effect; to train "
                         f"from other weights, write `exprun rerun @last {weights} run.steps=50`\n")
        said = self.refused("resume", "@last", weights)
        self.assertIn(f"; `exprun rerun {name} {weights}` trains a new run with the change\n", said)
        self.assertNotIn("exprun fork", said)
        self.exprun("rerun", "@last", weights, "run.steps=50")
        self.exprun("rerun", "@last", "init_from=tiny", "run.steps=51")  # a run by its name, as for a recipe
        self.assertIn("/step_00000050\"\n", self.exprun("show", "@last").out)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.exprun("rerun", "@last", "init_from=tiny", "run.steps=52", "--store", "../runs", cwd=elsewhere)
        self.assertIn("/step_00000051\"\n", self.exprun("show", "@last").out)
        self.exprun("rm", "@last")
        self.exprun("rm", "@last")
        self.exprun("fork", "@last", "run.steps=60")  # which keeps what the recipe says
        self.assertIn(f'\ninit_from = "runs/{name}/checkpoints/step_00000010"\n', self.exprun("show", "@last").out)
        for command in "fork", "rerun":  # of a fork there is no such command
            for change in "model.init_from=1", "~model.init_from":
                self.assertEqual(self.refused(command, "@last", change, "run.steps=70"),
                                 f"exprun: error: {command}: a fork begins with the weights of its checkpoint, so model.init_from has no "
                                 "effect; leave it as it is\n")
        self.assertTrue(self.refused("resume", "@last", "model.init_from=1").endswith("(~run.early_stop)\n"))

    def test_another_optimizer_needs_a_state_of_its_own(self):
        words = ("fork", "@last", "optimizer.type=lion", "run.steps=50")
        said = self.refused(*words)
        self.assertIn("  optimizer.type: \"adamw\" -> \"lion\"\n", said)
        self.assertIn("\noptimizer state:\n", said)
        self.assertTrue(said.endswith("\nadd --fresh-optimizer to take only the weights and start with a fresh optimizer state\n"), said)
        self.exprun(*words, "--fresh-optimizer")
        self.assertEqual(self.losses(self.newest())[0][0], 41)

    def test_a_rerun_of_a_fork_says_how_to_fork_its_origin_with_another_optimizer(self):
        origin = self.origin.name
        self.exprun("fork", origin, "--step", "20", "lr=1e-3", "run.steps=30", "run.tags=['a b']")
        fork = self.newest().name
        said = self.refused("rerun", fork, "optimizer.type=lion", "lr=1e-4")
        self.assertIn(f"exprun: error: rerun: the checkpoint of step 20 of {origin} does not fit the changed recipe:\n", said)
        command = f"exprun fork {origin} --step 20 --fresh-optimizer run.steps=30 'run.tags=['\\''a b'\\'']' optimizer.type=lion optimizer.lr=1e-4"
        self.assertTrue(said.endswith(f"\n`{command}` takes only the weights and starts with a fresh optimizer state\n"), said)
        self.exprun(*shlex.split(command)[1:])
        columns = "SELECT toml FROM parameters JOIN runs USING (run) WHERE folder = ? AND path IN ('optimizer.type', 'optimizer.lr', 'run.steps')"
        self.assertEqual(self.rows(columns + " ORDER BY toml", self.newest().name), [('"lion"',), ("0.0001",), ("30",)])
        said = self.refused("--store", "./runs", "rerun", fork, "optimizer.type=lion")
        self.assertIn(" optimizer.type=lion --store ./runs` takes only the weights ", said)
        self.assertIn(f"\n{fork} is a fork, which keeps the model; for a new run ", self.refused("rerun", fork, "num_layers=2"))
        self.assertIn("exprun: error: rerun: nothing is left to train: ", self.refused("rerun", fork, "run.steps=20"))

    def test_a_fresh_state_counts_its_updates_from_the_fork(self):
        self.exprun("fork", "@last", "--fresh-optimizer", "run.steps=60", "checkpoint.every=5 steps")
        fork = self.newest()
        state = json.loads((fork / "checkpoints/step_00000060/state.json").read_text())
        self.assertEqual((state["step"], state["optimizer_start"]), (60, 40))
        self.exprun("fork", "1", "run.steps=60")
        self.assertEqual(self.losses(fork)[0], self.losses(self.newest())[0])
        self.assertNotEqual(self.losses(fork)[1], self.losses(self.newest())[1])

    def test_something_must_be_left_to_train(self):
        self.assertEqual(self.refused("fork", "@last"), f"exprun: forking step 40 of {self.origin.name}\n"
                         "exprun: error: fork: nothing is left to train: the checkpoint is of step 40, and the run has 40 "
                         "steps; add run.steps=80\n")

    def test_what_can_never_work_is_told_before_a_length_that_is_too_short(self):
        said = self.refused("fork", "@last", "num_layers=2")
        self.assertIn("does not fit the changed recipe:\n  model.num_layers: 1 -> 2\n", said)
        self.assertNotIn("nothing is left to train", said)
        said = self.refused("fork", "@last", "optimizer.type=lion")
        self.assertTrue(said.endswith("\nadd --fresh-optimizer to take only the weights and start with a fresh optimizer state\n"
                                      "nothing is left to train: the checkpoint is of step 40, and the run has 40 steps; "
                                      "add run.steps=80\n"), said)

    def test_a_recipe_alone_never_means_a_fork(self):
        self.exprun("fork", "@last", "run.steps=50")
        self.exprun("tiny.toml", "steps=50", "checkpoint.every=10 steps", "keep_last=20")
        self.assertEqual(self.rows("SELECT run, last_step FROM runs ORDER BY run"), [(1, 40), (2, 50), (3, 50)])
        self.assertNotEqual(self.losses(self.newest()), [])

    def test_a_fork_is_run_again_from_the_same_checkpoint(self):
        self.exprun("fork", "@last", "--step", "20", "--fresh-optimizer", "lr=1e-3", "run.steps=30")
        fork = self.newest()
        said = self.exprun("rerun", fork.name).err
        self.assertIn(f"exprun: forking step 20 of {self.origin.name} (fresh optimizer)\n", said)
        self.assertIn(f"exprun: new run, with the same settings as {fork.name}\n", said)
        self.assertRegex(said, r"\n  train/loss: [\d.]+ at step 30, as before\n")
        self.assertEqual(self.losses(self.newest()), self.losses(fork))
        origins = [json.loads(self.exprun("show", run, "--json").out)["origin"] for run in ("2", "3")]
        self.assertEqual(origins[0], origins[1])
        self.assertIn("  run.steps: 30 -> 25\n", self.exprun("rerun", fork.name, "run.steps=25").err)

    def test_a_fresh_optimizer_is_told_from_that_of_the_checkpoint(self):
        kept = ("fork", self.origin.name, "run.steps=45")
        self.exprun(*kept)
        self.assertIn(f"exprun: forking step 40 of {self.origin.name} (fresh optimizer)\n", self.exprun(*kept, "--fresh-optimizer").err)
        self.assertRegex(self.exprun("compare", "2", "3").out, rf"\nforked at +step 40 of {self.origin.name} +step 40 of {self.origin.name} \(fresh")
        rows = json.loads(self.exprun("report", "--over-seeds", "--where", "steps=45", "--json").out)
        self.assertEqual([row["runs"] for row in rows], [1, 1])

    def test_a_fork_whose_origin_is_gone_says_why_it_is_not_run_again(self):
        self.exprun("fork", "@last", "--step", "20", "--fresh-optimizer", "run.steps=30")
        fork = self.newest()
        shutil.rmtree(self.origin / "checkpoints/step_00000020")
        why = f"exprun: error: rerun: {fork.name} is a fork of step 20 of {self.origin.name} (fresh optimizer), whose checkpoint of that step is gone"
        copy = f"exprun fork {fork.name} --step 20 --fresh-optimizer"
        self.assertEqual(self.refused("rerun", fork.name, code=1), f"{why}; `{copy}` begins with its own copy\n")
        self.exprun(*copy.split()[1:])
        self.assertEqual(self.losses(self.newest()), self.losses(fork))
        self.exprun("rm", "@last")
        shutil.rmtree(fork / "checkpoints/step_00000020")
        self.assertEqual(self.refused("rerun", fork.name, code=1), f"{why}, so it cannot be repeated; `exprun fork {self.origin.name}` "
                         "with key=value... begins with the newest checkpoint there\n")
        self.exprun("rm", self.origin.name)
        self.exprun("gc", "--origins")
        self.assertEqual(self.refused("rerun", fork.name, code=1), f"exprun: error: rerun: {fork.name} is a fork of step 20 of "
                         f"{self.origin.name} (fresh optimizer), which is not in this store any more, so it cannot be repeated\n")

    def test_a_fork_outlives_its_origin(self):
        self.exprun("fork", "@last", "run.steps=50", "max_minutes=1e-6", code=75)
        fork = self.newest()
        self.exprun("rm", self.origin.name)
        self.exprun("gc", "--origins")
        self.assertFalse(self.origin.exists())
        self.exprun("resume", fork.name, "max_minutes=10")
        self.assertEqual(self.losses(fork)[-1][0], 50)

    def test_a_fork_without_its_checkpoints_does_not_begin_anew(self):
        self.exprun("fork", "@last", "run.steps=50", "max_minutes=1e-6", code=75)
        fork = self.newest()
        with open(self.folder / "text.txt", "a") as text:
            text.write("more")
        self.assertTrue((said := self.exprun("resume", fork.name, code=1).err).endswith(
            f", or start a new run: exprun rerun {fork.name}\n"), said)
        for checkpoint in (fork / "checkpoints").iterdir():
            (checkpoint / "MANIFEST.json").unlink()
        self.assertIn(f"launch: {fork.name} has no intact checkpoint, and it is a fork of step 40 of {self.origin.name}; "
                      f"`exprun rerun {fork.name}` forks that again\n", self.exprun("resume", fork.name, code=1).err)

    def test_a_broken_fork_without_its_origin_is_not_told_to_run_again(self):
        self.exprun("fork", "@last", "run.steps=50", "max_minutes=1e-6", code=75)
        fork = self.newest()
        self.exprun("rm", self.origin.name)
        self.exprun("gc", "--origins")
        self.assertTrue((said := self.refused("resume", fork.name, "lr=1e-3")).endswith(
            f" or none (~run.early_stop); `exprun fork {fork.name} lr=1e-3` trains a new run with the change from here on\n"), said)
        text = self.folder / "text.txt"
        text.write_text(text.read_text() + "more")
        self.assertTrue((said := self.exprun("resume", fork.name, code=1).err).endswith(f", or start a new run: exprun fork {fork.name}\n"), said)
        shutil.rmtree(fork / "checkpoints")
        is_fork = f"is a fork of step 40 of {self.origin.name}, which is not in this store any more, so it cannot be repeated"
        for words, said in ((("resume", fork.name), f"launch: {fork.name} has no intact checkpoint, and it {is_fork}\n"),
                            (("eval", fork.name), f"eval: {fork.name} has no checkpoint; it {is_fork}\n"),
                            (("rerun", fork.name), f"rerun: {fork.name} {is_fork}\n")):
            self.assertTrue(self.exprun(*words, code=1).err.endswith(f"exprun: error: {said}"), words)
        shutil.rmtree(fork)
        self.assertEqual(self.exprun("logs", fork.name, code=1).err, f"exprun: error: logs: the folder of {fork.name} is not in this store; if it "
                         f"was deleted, remove its record: exprun rm {fork.name} (it {is_fork}); if the run was merged from another store, name "
                         "that one with --store\n")


def is_held(checkpoint):
    """Whether somebody keeps the run of this checkpoint from removing it."""
    with (checkpoint / "MANIFEST.json").open("r+") as manifest, contextlib.suppress(BlockingIOError):
        fcntl.fcntl(manifest, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
        return False
    return True


class Held(LaterTraining):
    """The checkpoint of another run stays where it is until a run that begins with it has it, and no longer."""

    def setUp(self):
        super().setUp()
        self.exprun("tiny.toml", "steps=2")
        self.weights = self.newest() / "checkpoints/step_00000002"

    @staticmethod
    def trainers(process):
        """Those of its children that were given the checkpoint to hold."""
        found = []
        for child in children(process.pid):
            with contextlib.suppress(OSError), open(f"/proc/{child}/cmdline", encoding="utf-8") as line:
                found += [child] if "--weights-fd" in line.read().split("\0") else []
        return found

    def begin(self, *words, ranks=1):
        """Starts a run whose trainers are stopped before they have loaded anything: LibTorch alone takes them longer."""
        process = self.start(*words)
        self.wait_until(lambda: len(self.trainers(process)) == ranks, process)
        trainers = self.trainers(process)
        for trainer in trainers:
            os.kill(trainer, signal.SIGSTOP)
        return process, trainers

    def test_until_the_weights_are_loaded(self):
        warm = ("tiny.toml", "name=warm", "steps=1000000")
        run, path = self.newest().name, self.weights.relative_to(self.folder)
        for words, ranks in (((*warm, f"init_from={run}"), 1), ((*warm, f"init_from={path}", "seed=2", "world_size=2"), 2),
                             (("rerun", "@last"), 2)):
            with self.subTest(words=words):
                process, trainers = self.begin(*words, ranks=ranks)
                self.assertTrue(is_held(self.weights))
                for trainer in trainers:
                    os.kill(trainer, signal.SIGCONT)
                self.wait_for_step(1, process)
                self.wait_until(lambda: not is_held(self.weights), process)
                self.exprun("stop", "@last")

    def test_weights_that_do_not_fit_are_told_at_their_place_before_a_run_begins(self):
        before = self.rows("SELECT count(*) FROM run")
        said = self.exprun("tiny.toml", "name=warm", "num_layers=2", "init_from=@last", code=2).err
        self.assertIn(": error: weights: ", said)
        self.assertEqual(self.rows("SELECT count(*) FROM run"), before)

    def test_a_run_that_is_there_is_no_mistake_beside_another(self):
        for words in (("lrr=3",), ("lrr=3", "--detach")):
            said = self.exprun("tiny.toml", "name=warm", "init_from=@last", *words, code=2).err
            self.assertIn("unknown key 'lrr'", said)
            self.assertNotIn("does not exist", said)

    def test_until_a_fork_has_copied_it(self):
        process = self.start("fork", "@last", "run.steps=1000000")
        self.wait_for_step(3, process)
        self.assertFalse(is_held(self.weights))
        self.exprun("stop", "@last")


if __name__ == "__main__":
    unittest.main()
