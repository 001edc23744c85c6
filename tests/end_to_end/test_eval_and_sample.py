"""A run is looked at after its end: `exprun eval` and `exprun sample` on its newest checkpoint."""
import array
import json
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import time
import unittest
from unittest import mock

from byte_level import tokenizer_json, write_chat_tokenizer
from support import ROOT, TIMEOUT, TINY, ExprunTest, children, flip_a_bit

LINES = "".join(
    json.dumps({"ctx": f"{n} little ships", "endings": [" mite", " went out to sea", " unseen", " at 99"], "label": 1}) + "\n"
    for n in range(10))


class EvalAndSample(ExprunTest):
    def setUp(self):
        super().setUp()
        self.exprun("tiny.toml", "lr=3e-2", "steps=150")

    def checkpoint(self, step):
        return self.run_folder() / "checkpoints" / f"step_{step:08}"

    def test_eval_gives_what_the_run_recorded_at_its_end(self):
        ((recorded,),) = self.rows("SELECT value FROM metrics WHERE name = 'val/loss' AND step = 150")
        results = json.loads(self.exprun("eval", "@last", "--json").out)
        self.assertEqual(results["step"], 150)
        self.assertEqual(results["metrics"], {"val/loss": recorded})
        self.assertEqual(self.exprun("eval", "@last").out, f"step 150: val/loss {recorded:.4f}\n")

    def test_results_of_eval_are_series_of_their_own(self):
        own = self.rows("SELECT * FROM metrics WHERE name = 'val/loss'")
        ((value,),) = self.rows("SELECT value FROM metrics WHERE name = 'val/loss' AND step = 150")
        for _ in range(2):
            self.exprun("eval", "@last")
            self.assertEqual(self.rows("SELECT step, value FROM metrics WHERE name = 'eval/val/loss'"), [(150, value)])
        self.assertEqual(self.rows("SELECT * FROM metrics WHERE name = 'val/loss'"), own)
        self.assertEqual(self.rows("SELECT last, last_step FROM series WHERE name = 'eval/val/loss'"), [(value, 150)])

    def test_results_of_other_settings_are_recorded_only_under_a_name(self):
        changed = ("eval", "@last", "--json", "evaluation.val_loss.tokens=64")
        done = self.exprun(*changed)
        self.assertIn("exprun: warning: eval: the results will not be recorded, because the settings are not the run's (evaluation.val_loss.tokens \"auto\" -> 64); "
                      "to record the results as eval/NAME/METRIC, add --as NAME\n", done.err)
        self.assertEqual(self.rows("SELECT count(*) FROM series WHERE name LIKE 'eval/%'"), [(0,)])
        value = json.loads(done.out)["metrics"]["val/loss"]
        self.exprun(*changed, "--as", "few")
        self.assertEqual(self.rows("SELECT name, step, value FROM metrics WHERE name LIKE 'eval/%'"),
                         [("eval/few/val/loss", 150, value)])
        ((run,),) = self.rows("SELECT folder FROM runs")
        for _ in range(2):
            self.exprun(*changed, "--as", "few")
        self.assertEqual(self.rows("SELECT count(*) FROM event WHERE kind = 'evaluation'"), [(1,)])
        done = self.exprun("eval", "@last", "evaluation.val_loss.tokens=128", "--as", "few")
        self.assertIn(f"warning: eval: the results will not be recorded, because eval/few/val/loss of {run} has other settings (tokens is 64 there, 128 here); "
                      "to record the results as other metrics, choose another name for --as\n", done.err)
        self.assertEqual(self.rows("SELECT name, step, value FROM metrics WHERE name LIKE 'eval/%'"),
                         [("eval/few/val/loss", 150, value)])
        self.assertIn("eval/few/val/loss", self.exprun("report", "--metric", "eval/few/val/loss", "--json").out)
        self.assertEqual(self.exprun("eval", "@last", "--as", "a b", code=2).err,
                         "exprun: error: eval: --as takes a name of letters, digits, '_' and '-', not 'a b'\n")

    def test_sample_computes_in_the_format_that_is_asked_for(self):
        prompt = ("sample", "@last", "--prompt", "3 little", "tokens=8", "temperature=0")
        self.assertEqual(self.exprun(*prompt, "--dtype", "bf16").out, self.exprun(*prompt).out)  # it has learned that well
        self.assertEqual(self.exprun(*prompt, "--dtype", "fp8", code=2).err,
                         "exprun: error: sample: --dtype takes fp32, bf16 or fp16, not 'fp8'\n")

    def test_what_looks_at_weights_spins_no_longer_than_a_run(self):
        """libgomp's threads would wait on the cores that others want, and take 15 times as long beside them."""
        with mock.patch.dict(os.environ):
            for name in "GOMP_SPINCOUNT", "OMP_WAIT_POLICY":
                os.environ.pop(name, None)
            process = self.start("sample", "@last", "tokens=100000")
        late = time.monotonic() + TIMEOUT
        while not (pids := children(process.pid)):
            self.assertLess(time.monotonic(), late)
        variables = b""
        while b"GOMP_SPINCOUNT=5000" not in variables:  # it is there as soon as the program has taken the child's place
            self.assertLess(time.monotonic(), late, variables)
            self.assertIsNone(process.poll())
            time.sleep(0.02)
            variables = pathlib.Path(f"/proc/{pids[0]}/environ").read_bytes()

    def test_eval_of_something_that_the_recipe_has_not(self):
        self.write("hellaswag.jsonl", LINES)
        others = ("evaluation.hellaswag.path=hellaswag.jsonl", "evaluation.ships.path=hellaswag.jsonl",
                  "evaluation.ships.type=completion", "evaluation.perplexity.path=text.txt")
        results = json.loads(self.exprun("eval", "@last", "--json", *others).out)["metrics"]
        declared = {series.replace("{name}", name) for name, kind in
                    {"hellaswag": "hellaswag", "ships": "completion", "perplexity": "perplexity", "val_loss": "val_loss",
                     "sample": "sample"}.items()
                    for series in json.loads((ROOT / f"schemas/evaluation/{kind}.schema.json").read_text())["x-series"]}
        self.assertEqual(set(results), declared)
        self.assertGreater(results["hellaswag/acc_norm"], 0.5)  # the only ending in the text it knows
        for score in "acc", "acc_norm":
            self.assertEqual(results[f"ships/{score}"], results[f"hellaswag/{score}"])

    def test_an_evaluation_of_another_text_replaces_no_result(self):
        text = (self.folder / "text.txt").read_text()
        self.write("a.txt", text[:300])
        self.write("b.txt", text[300:500])
        self.exprun("tiny.toml", "steps=2", "name=other")
        for run in "tiny", "other":
            self.exprun("eval", run, "evaluation.perplexity.path=a.txt")
        results = self.rows("SELECT name, step, value FROM metrics WHERE name LIKE 'eval/perplexity/%'")
        self.assertEqual(len(results), 6)
        ((other,),) = self.rows("SELECT folder FROM runs WHERE name = 'other'")
        ((tiny,),) = self.rows("SELECT folder FROM runs WHERE name = 'tiny'")
        for run in "tiny", "other":  # every run of the store shares the column of a report
            self.assertRegex(self.exprun("eval", run, "evaluation.perplexity.path=b.txt").err,
                             rf'warning: eval: the results will not be recorded, because eval/perplexity/loss of ({tiny}|{other}) has other settings \(path is "a.txt" there, '
                             r'"b.txt" here\); to record the results as eval/NAME/METRIC, add --as NAME\n')
        self.assertEqual(self.rows("SELECT name, step, value FROM metrics WHERE name LIKE 'eval/perplexity/%'"), results)
        self.exprun("eval", "tiny", "evaluation.perplexity.path=b.txt", "--as", "b")
        for run, prompt in (("tiny", "3"), ("other", "7")):  # a text that is sampled is no result
            self.assertNotIn("not be recorded", self.exprun("eval", run, f"evaluation.sample.prompt={prompt}", "evaluation.sample.tokens=2").err)
        self.assertIn("eval/b/perplexity/loss", self.exprun("report", "--metric", "eval/b/perplexity/loss", "--json").out)

    def test_one_text_by_several_names_is_one_setting(self):
        self.write("a.txt", (self.folder / "text.txt").read_text()[:300])
        (self.folder / "sub").mkdir()
        for path in "a.txt", "./a.txt", "sub/../a.txt", self.folder / "a.txt":
            with self.subTest(path=path):
                self.assertNotIn("not be recorded", self.exprun("eval", "@last", f"evaluation.perplexity.path={path}").err)
        self.assertEqual(self.rows("SELECT count(*) FROM event WHERE kind = 'evaluation'"), [(1,)])
        own = "evaluation.perplexity.path=a.txt", "evaluation.perplexity.every=1 epoch"
        self.exprun("tiny.toml", "steps=2", "name=own", *own)
        self.assertNotIn("not be recorded", self.exprun("eval", "own", "evaluation.perplexity.path=./a.txt").err)

    def test_endings_without_a_token_to_predict_are_refused(self):
        for example in ({"context": "7 little", "endings": ["", " ships"], "label": 1}, {"context": "", "endings": ["7"], "label": 0},
                        {"context": "", "endings": [""], "label": 0}):
            with self.subTest(example=example):
                self.write("own.jsonl", json.dumps(example) + "\n")
                said = self.exprun("eval", "@last", "evaluation.completion.path=own.jsonl", code=2).err
                self.assertIn("example 1 of 'own.jsonl' has an ending without a token to predict", said)

    def test_eval_judges_a_prompt_as_check_does(self):
        said = self.exprun("check", "tiny.toml", "evaluation.sample.prompt=Zoo", code=2).err
        self.assertIn("the prompt contains 'Z', which the tokenizer does not know", said)
        told = self.exprun("eval", "@last", "evaluation.sample.prompt=Zoo", code=2).err
        self.assertEqual(told.split(":", 2)[2], said.split(":", 2)[2])

    def test_eval_adds_and_resets_evaluations(self):
        results = json.loads(self.exprun("eval", "@last", "--json", "+evaluation.sample.tokens=3", "~evaluation.val_loss").out)
        self.assertEqual(list(results["texts"]), ["sample"])

    def test_paths_are_those_of_the_run_as_long_as_its_folder_is_there(self):
        self.write("hellaswag.jsonl", LINES)
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        store = ("--store", str(self.folder / "runs"))
        words = ("eval", "@last", "--json", "evaluation.hellaswag.path=hellaswag.jsonl")
        self.assertIn("hellaswag/acc", json.loads(self.exprun(*store, *words, cwd=elsewhere).out)["metrics"])
        self.exprun(*store, "../tiny.toml", "dataset.path=../text.txt", "steps=2", cwd=elsewhere)
        elsewhere.rmdir()
        self.assertIn("val/loss", self.exprun(*store, "eval", "@last").out)
        self.assertEqual(len(self.exprun(*store, "sample", "@last", "--prompt=7", "tokens=3").out), 5)

    def test_a_project_that_is_renamed_goes_on_where_it_is_now(self):
        for name in "tiny.toml", "text.txt":
            self.write(f"before/{name}", (self.folder / name).read_bytes())
        before, now = self.folder / "before", self.folder / "now"
        recipe = "tiny.toml", "steps=1000000"

        def twenty_steps(*words, folder):
            store = f"{folder.name}/runs"
            step = self.last_step(store)
            process = self.start(*words, cwd=folder)
            self.wait_for_step(step + 20, process, store)
            process.terminate()
            result = self.finish(process)
            self.assertEqual(result.code, 143, result.err)
            return result.err

        twenty_steps(*recipe, folder=before)
        before.rename(now)
        said = (f" was started in {before}, which cannot be entered (No such file or directory); paths of its recipe "
                "are read from here")
        self.assertIn(said, self.exprun("eval", "@last", cwd=now).err)
        self.assertIn(said, self.exprun("sample", "@last", "tokens=3", cwd=now).err)
        self.assertIn(said, twenty_steps("resume", "@last", folder=now))
        self.assertIn("continuing tiny-", twenty_steps(*recipe, folder=now))
        (now / "text.txt").unlink()
        self.assertRegex(twenty_steps(*recipe, folder=now), r"data: text\.txt is gone; training uses the prepared tokens of tiny-\w+")
        self.assertIn("tiny.toml:16:8: error: ", self.exprun("tiny.toml", "steps=5", cwd=now, code=2).err)

    def test_tokens_that_are_damaged_are_prepared_again(self):
        value = self.exprun("eval", "@last").out
        (tokens,) = self.folder.glob("runs/data/*/validation_000000.bin")
        problem = "has other content than the manifest says"
        flip_a_bit(tokens)
        done = self.exprun("eval", "@last")
        self.assertIn(f"warning: data: the prepared data in '{tokens.parent}' was damaged ({tokens.name} {problem}) and has been "
                      "prepared again\n", done.err)
        self.assertEqual(done.out, value)
        shutil.rmtree(tokens.parent)
        done = self.exprun("eval", "@last")
        self.assertIn("exprun: prepared ", done.err)
        self.assertEqual(done.out, value)
        text = self.folder / "text.txt"
        kept = text.rename(self.folder / "kept.txt")
        self.assertEqual(self.exprun("eval", "@last").out, value)
        flip_a_bit(tokens)
        self.assertEqual(self.exprun("eval", "@last", code=1).err, f"exprun: error: data: the prepared data in '{tokens.parent}' is "
                         f"damaged ({tokens.name} {problem}), and text.txt is gone; bring the sources back as they were\n")
        text.write_text(kept.read_text()[:-40])
        self.assertIn(f"is damaged ({tokens.name} {problem}), and text.txt has changed since; bring the sources back as they were\n",
                      self.exprun("eval", "@last", code=1).err)
        generated = self.exprun("sample", "@last", "--prompt", "e", "tokens=3").out
        shutil.rmtree(tokens.parent)
        text.unlink()
        self.assertEqual(self.exprun("sample", "@last", "--prompt", "e", "tokens=3").out, generated)  # needs no token of the data
        self.assertEqual(self.exprun("eval", "@last", code=1).err, f"exprun: error: data: the prepared data in '{tokens.parent}' is "
                         "gone, and text.txt is gone; bring the sources back as they were\n")

    def test_shards_that_are_not_those_of_the_run_are_refused_as_by_a_run(self):
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=byte", "shard_tokens=5000", "--out", "made")
        text = 'type = "text"\npath = "text.txt"\ntokenizer = "char"\n'
        self.write("shards.toml", (self.folder / "tiny.toml").read_text().replace(text, 'type = "token_shards"\n' + "".join(
            f'{split} = "made/{split}_*.bin"\n' for split in ("train", "validation"))))
        self.exprun("shards.toml", "vocab_size=256", "steps=2")
        value = self.exprun("eval", "@last").out
        shard = self.folder / "made/train_000001.bin"
        shutil.copy(shard, self.folder / "made/train_000009.bin")  # which the glob matches, too
        self.assertEqual(self.exprun("eval", "@last").out, value)
        self.assertEqual(self.exprun("eval", "@last").err, "exprun: eval: recorded eval/val/loss\n")
        flip_a_bit(shard)  # of the tokens that are only trained on
        self.assertEqual(self.exprun("eval", "@last").out, value)
        for file in self.folder.glob("made/train_*"):
            file.unlink()
        self.assertEqual(self.exprun("eval", "@last").out, value)
        validation = self.folder / "made/validation_000000.bin"
        flip_a_bit(validation)
        said = self.exprun("eval", "@last", code=2).err
        self.assertRegex(said, r"^shards\.toml:\d+:14: error: token shard: 'made/validation_000000\.bin' has other content than the manifest says; ")
        (self.folder / "made/MANIFEST.json").unlink()
        self.assertEqual(self.exprun("eval", "@last", code=1).err, "exprun: error: data: made/validation_000000.bin is not what the run was "
                         "validated on; bring the old data back\n")
        validation.unlink()
        self.assertRegex(self.exprun("eval", "@last", code=2).err, r"^shards\.toml:\d+:14: error: no file matches 'made/validation_\*\.bin'")

    def test_shards_of_an_older_run_are_compared_all_together(self):
        """It has recorded no hash of each."""
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=byte", "--out", "made")
        (self.folder / "made/MANIFEST.json").unlink()
        text = 'type = "text"\npath = "text.txt"\ntokenizer = "char"\n'
        self.write("shards.toml", (self.folder / "tiny.toml").read_text().replace(text, 'type = "token_shards"\n' + "".join(
            f'{split} = "made/{split}_*.bin"\n' for split in ("train", "validation"))))
        self.exprun("shards.toml", "vocab_size=256", "steps=2")
        value = self.exprun("eval", "@last").out
        description = self.run_folder() / "data.json"
        older = re.sub(r'"content": "\w+",\s*', "", description.read_text())
        self.assertNotEqual(older, description.read_text())
        description.write_text(older)
        self.assertEqual(self.exprun("eval", "@last").out, value)
        flip_a_bit(self.folder / "made/validation_000000.bin")
        self.assertRegex(self.exprun("eval", "@last", code=1).err, r"^exprun: error: data: ")

    def test_of_data_that_were_copied_the_validation_shards_are_enough(self):
        before, now = self.folder / "before", self.folder / "now"
        write_chat_tokenizer(self.write("before/words/x", "").parent)
        self.write("before/text.txt", (self.folder / "text.txt").read_bytes())
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=huggingface", "vocabulary=words", "--out", "made", cwd=before)
        self.write("before/shards.toml", TINY.replace('type = "text"\npath = "text.txt"\ntokenizer = "char"', 'type = "token_shards"\n'
                   'train = "made/train_*.bin"\nvalidation = "made/validation_*.bin"\ntokenizer = "prepared"'))
        self.exprun("shards.toml", "steps=2", cwd=before)
        value = self.exprun("eval", "@last", cwd=before).out
        before.rename(now)
        for file in [*now.glob("made/train_*"), now / "text.txt"]:
            file.unlink()
        self.assertEqual(self.exprun("eval", "@last", cwd=now).out, value)

    def test_tokens_that_are_only_trained_on_may_be_gone(self):
        value = self.exprun("eval", "@last").out
        (tokens,) = self.folder.glob("runs/data/*/train_000000.bin")
        tokens.unlink()
        self.assertEqual(self.exprun("eval", "@last").out, value)
        self.assertFalse(tokens.exists())
        (self.folder / "text.txt").unlink()
        self.assertEqual(self.exprun("eval", "@last").out, value)
        self.assertIn("error: 'text.txt' does not exist\n", self.exprun("resume", "@last", "run.steps=160", code=2).err)

    def test_a_text_with_characters_that_a_model_lacks_is_refused_with_a_way_on(self):
        self.write("other.txt", "7 little Zebras")
        self.write("own.jsonl", json.dumps({"context": "7 little", "endings": [" Zebras", " ships"], "label": 1}) + "\n")
        for path in "perplexity.path=other.txt", "completion.path=own.jsonl":
            self.assertRegex(self.exprun("eval", "@last", f"evaluation.{path}", code=2).err,
                             r"^<override \d+>:1:\d+: error: 'Z' \(U\+005A\) is not one of the \d+ characters that the tokenizer knows\n.*\n *\^+ "
                             'replace it in the file, or train a new model whose tokenizer has it: "byte" has every character, "char" those '
                             "of the dataset\n")

    def test_a_store_whose_path_is_no_utf8_may_use_data_whose_paths_are(self):
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=byte", "--out", "made")
        text = 'type = "text"\npath = "text.txt"\ntokenizer = "char"\n'
        tiny = (self.folder / "tiny.toml").read_text()
        self.assertIn(text, tiny)
        self.write("shards.toml", tiny.replace(text, 'type = "token_shards"\n' + "".join(
            f'{split} = "{self.folder}/made/{split}_*.bin"\n' for split in ("train", "validation"))))
        odd = self.folder / os.fsdecode(b"d\xe9")
        odd.mkdir()
        self.exprun("../shards.toml", "vocab_size=256", "steps=2", cwd=odd)
        self.assertIn("step 2: val/loss ", self.exprun("eval", "@last", cwd=odd).out)

    def test_shards_of_tokens_take_a_tokenizer_where_their_recipe_names_none(self):
        (self.folder / "words").mkdir()
        write_chat_tokenizer(self.folder / "words")
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=huggingface", "vocabulary=words", "--out", "made")
        self.write("shards.toml", TINY.replace('type = "text"\npath = "text.txt"\ntokenizer = "char"', 'type = "token_shards"\n'
                                               'train = "made/train_*.bin"\nvalidation = "made/validation_*.bin"'))
        self.exprun("shards.toml", "vocab_size=262", "steps=2", "name=shards")
        perplexity = ("eval", "shards", "evaluation.perplexity.path=text.txt")
        self.assertIn("--tokenizer in `exprun eval` and `exprun sample`", self.exprun(*perplexity, code=2).err)
        self.assertEqual(self.exprun(*perplexity, "--tokenizer", "gpt2", code=2).err,
                         f"exprun: error: eval: there is no file or folder '{self.folder.resolve()}/gpt2'; --tokenizer takes a "
                         "tokenizer.json, or a vocabulary file or its folder\n")
        found = {self.exprun(*perplexity, "--tokenizer", path).out for path in ("words", "words/tokenizer.json")}
        self.assertEqual(len(found), 1)
        self.assertIn("step 2: perplexity/bits_per_byte ", found.pop())
        for prompt in (), ("--prompt", "7"):
            self.assertEqual(self.exprun("sample", "shards", *prompt, code=2).err,
                             "exprun: error: sample: the data of shards has no tokenizer, so nothing says which text its tokens stand for; give "
                             "the tokenizer that made them: --tokenizer PATH, a tokenizer.json, or a vocabulary file or its folder\n")
        text = self.exprun("sample", "shards", "--tokenizer", "words", "--prompt=7 little", "tokens=3").out
        self.assertTrue(text.startswith("7 little"), text)
        self.exprun("shards.toml", "vocab_size=261", "steps=2", "name=narrow")
        said = self.exprun("sample", "narrow", "--tokenizer", "words", code=2).err
        self.assertIn("'vocab_size' must be >= 262, the size of the dataset's vocabulary", said)
        for name, more, misfit in (("bytes", {}, "256 tokens, fewer than the 262 of the data of shards"),
                                   ("wide", {f"{n}": 256 + n for n in range(10, 30)}, "286 tokens, more than the 262 of the model of shards")):
            (self.folder / name).mkdir()
            (self.folder / name / "tokenizer.json").write_text(tokenizer_json(more))
            for words in ("sample", "shards", "--prompt=7"), perplexity:
                said = self.exprun(*words, "--tokenizer", name, code=2).err
                self.assertRegex(said, f"^exprun: error: {words[0]}: --tokenizer '{self.folder.resolve()}/{name}' has {misfit}, which was "
                                       "trained with another tokenizer; give that one: --tokenizer ")
        self.assertEqual(self.exprun("sample", "shards", "--prompt=7 little", "tokens=3", *said.split("give that one: ")[1].split()).out, text)

    def test_the_characters_of_nanogpts_data_become_a_tokenizer(self):
        folder = self.folder / "nanoGPT's"
        folder.mkdir()
        text = (self.folder / "text.txt").read_text()
        stoi = {character: number for number, character in enumerate(sorted(set(text)))}
        meta = {"vocab_size": len(stoi), "itos": {number: character for character, number in stoi.items()}, "stoi": stoi}
        (folder / "meta.pkl").write_bytes(pickle.dumps(meta))
        for name in "train.bin", "val.bin":
            (folder / name).write_bytes(array.array("H", [stoi[character] for character in text]).tobytes())
        self.write("nano.toml", TINY.replace('type = "text"\npath = "text.txt"\ntokenizer = "char"', 'type = "token_shards"\n'
                                             f'format = "raw_uint16"\ntrain = "{folder.name}/train.bin"\n'
                                             f'validation = "{folder.name}/val.bin"'))
        self.exprun("nano.toml", f"vocab_size={len(stoi)}", "steps=2")
        sample = ("sample", "@last", "--prompt=7 little", "tokens=20")
        commands = {self.exprun(*sample, *tokenizer, code=code).err.split("\n", 1)[1]
                    for code, *tokenizer in ((2,), (1, "--tokenizer", folder), (1, "--tokenizer", folder / "meta.pkl"))}
        self.assertEqual(len(commands), 1, commands)
        subprocess.run(commands.pop(), shell=True, check=True, timeout=TIMEOUT)
        written = self.exprun(*sample, "--tokenizer", folder).out
        self.assertTrue(written.startswith("7 little") and set(written) <= set(stoi), written)
        (folder / "tokenizer.json").write_text(json.dumps({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}}}))
        self.assertIn(f"has 2 tokens, fewer than the {len(stoi)} of the data of @last, which was trained with another tokenizer; give that one\n",
                      self.exprun(*sample, "--tokenizer", folder, code=2).err)

    def test_a_damaged_description_of_the_data_is_named(self):
        file = self.run_folder() / "data.json"
        file.write_text("{}")
        said = f"prepared data: '{file}' is damaged (key 'fingerprint' not found); run the recipe again"
        self.assertIn(said, self.exprun("eval", "@last", code=1).err)

    def test_sample_takes_a_setting_back(self):
        self.exprun("tiny.toml", "steps=2", "evaluation.sample.tokens=4")
        self.assertEqual(len(self.exprun("sample", "@last", "--prompt=7").out), 6)
        self.assertGreater(len(self.exprun("sample", "@last", "--prompt=7", "~tokens").out), 6)

    def test_eval_changes_evaluations_only(self):
        for change, key in ("model.num_layers=2", "model.num_layers"), ("lr=3", "optimizer.lr"):
            result = self.exprun("eval", "@last", change, code=2)
            self.assertEqual(result.err, f"exprun: error: eval: '{change}' changes {key}; only keys of [evaluation] can be "
                                         "changed here, such as evaluation.val_loss.tokens\n")
        self.assertTrue(self.exprun("eval", "@last", "path=text.txt", code=2).err.endswith(
            "such as evaluation.val_loss.tokens; evaluation.perplexity.path=text.txt evaluates another text\n"))
        self.assertIn("perplexity/loss ", self.exprun("eval", "@last", "evaluation.perplexity.path=text.txt").out)
        for value in "*.txt", "[text.txt]", "nowhere.txt":
            said = self.exprun("eval", "@last", f"path={value}", code=2).err
            self.assertTrue(said.endswith("such as evaluation.val_loss.tokens\n"), said)

    def test_sample_writes_after_a_prompt_and_is_reproducible(self):
        words = ("sample", "@last", "--prompt", "7 little ", "tokens=20", "temperature=0")
        text = self.exprun(*words).out
        self.assertTrue(text.startswith("7 little ships "), text)
        self.assertEqual(len(text), len("7 little ") + 20 + 1)
        self.assertEqual(self.exprun(*words).out, text)
        drawn = {self.exprun("sample", "@last", "tokens=40", "temperature=2", f"seed={seed}").out for seed in (1, 2)}
        self.assertEqual(len(drawn), 2)

    def test_a_text_without_line_breaks_is_continued_from_its_first_character(self):
        self.write("digits.txt", "0123456789" * 40)
        self.exprun("tiny.toml", "path=digits.txt", "steps=2", "name=digits", "~evaluation.sample")
        self.assertRegex(self.exprun("sample", "digits", "tokens=4").out, r"\A0\d{4}\n\Z")

    def test_a_checkpoint_of_another_store_is_told_from_what_is_none(self):
        checkpoint = next(self.run_folder().glob("checkpoints/*"))
        self.exprun("tiny.toml", "steps=1", "name=other", "--store", "other")
        said = self.exprun("sample", str(checkpoint), "--store", "other", code=4).err
        self.assertIn("; its folder is in another store: add --store ", said)

    def test_eval_warns_of_what_is_no_number(self):
        self.exprun("tiny.toml", "lr=1e38", "steps=2", code=3)
        result = self.exprun("eval", "@last", "--json")
        self.assertEqual(json.loads(result.out), {"metrics": {"val/loss": None}, "step": 1, "texts": {}})
        self.assertEqual(result.err, "exprun: warning: eval: val/loss is nan or infinite: the model has diverged by step 1\n"
                                     "exprun: eval: recorded eval/val/loss\n")

    def test_weights_that_are_nan_write_no_text(self):
        self.exprun("tiny.toml", "lr=1e38", "steps=2", "evaluation.sample.prompt=7", code=3)
        result = self.exprun("sample", "@last", code=1)
        self.assertEqual((result.out, result.err), ("", f"exprun: error: sample: at step 1 of {self.run_folder().name}, the "
                                                    "model has diverged: its logits are NaN or infinite\n"))
        said = self.exprun("eval", "@last")
        self.assertIn("\nexprun: warning: eval: sample: the model has diverged: its logits are NaN or infinite\n", said.err)
        self.assertNotIn("sample", said.out)

    def test_a_damaged_checkpoint_is_passed_over(self):
        self.exprun("tiny.toml", "lr=3e-2", "steps=20", 'checkpoint.every="10 steps"', "keep_best=none")
        whole = [self.exprun("eval", "@last").out, self.exprun("sample", "@last", "--prompt=7").out]
        self.assertTrue(whole[0].startswith("step 20: "), whole[0])
        flip_a_bit(self.checkpoint(20) / "model.safetensors")
        passed_over = ("exprun: warning: skipped a checkpoint: step_00000020: model.safetensors has other content than "
                       "the manifest says\n")
        looked_at = self.exprun("eval", "@last")
        self.assertEqual(looked_at.err, passed_over + "exprun: eval: recorded eval/val/loss\n")
        self.assertTrue(looked_at.out.startswith("step 10: "), looked_at.out)
        sampled = self.exprun("sample", "@last", "--prompt=7")
        self.assertEqual(sampled.err, passed_over)
        self.assertNotEqual(sampled.out, whole[1])

    def test_a_run_whose_checkpoints_are_all_damaged_is_not_looked_at(self):
        self.exprun("tiny.toml", "lr=3e-2", "steps=20", 'checkpoint.every="10 steps"', "keep_best=none")
        flip_a_bit(self.checkpoint(10) / "optimizer.safetensors")
        (self.checkpoint(20) / "MANIFEST.json").unlink()
        name = self.run_folder().name
        for words in (["eval", "@last"], ["sample", "@last"]):
            result = self.exprun(*words, code=1)
            self.assertEqual(result.out, "")
            self.assertEqual(result.err, f"exprun: error: {words[0]}: {name} has no intact checkpoint:\n"
                                         "  step_00000020: MANIFEST.json is missing\n"
                                         "  step_00000010: optimizer.safetensors has other content than the manifest says\n"
                                         f"  restore one from a copy; `exprun rerun {name}` trains it again\n")

    def test_a_run_without_a_checkpoint_has_nothing_to_look_at(self):
        shutil.rmtree(self.run_folder() / "checkpoints")
        name = self.run_folder().name
        none = f"{name} has no checkpoint; `exprun rerun {name}` trains it again"
        for words in (), ("--step", "best"), ("--step", "20"):
            self.assertEqual(self.exprun("eval", "@last", *words, code=1).err, f"exprun: error: eval: {none}\n")
        self.assertIn(none, self.exprun("tiny.toml", "name=warm", f"init_from={name}", code=2).err)
        self.assertEqual(self.exprun("fork", "@last", "lr=1e-2", "path=a b.txt", code=1).err,
                         f"exprun: error: fork: {name} has no checkpoint; `exprun rerun {name} lr=1e-2 'path=a b.txt'` trains it again\n")


if __name__ == "__main__":
    unittest.main()
