"""`exprun check` judges the recipe, whatever the state of the store beside it."""
import contextlib
import gzip
import json
import os
import re
import sqlite3
import unittest
from unittest import mock

from support import ROOT, ExprunTest, fixture


class Check(ExprunTest):
    def test_beside_a_foreign_database(self):
        (self.folder / "runs").mkdir()
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as db:
            db.execute("CREATE TABLE other (id)")
        self.assertIn("no mistakes", self.exprun("check", "tiny.toml").out)

    def test_a_mistake_in_a_recipe_with_another_extension_has_its_place(self):
        self.write("exp.conf", (self.folder / "tiny.toml").read_text().replace("steps = 40", "steps = 6 6"))
        self.assertIn("exp.conf:3:11: error: ", self.exprun("check", "exp.conf", code=2).err)
        self.write("vocab.bpe", "Ġ t\nĠ a\n")
        self.assertIn("this is not a recipe: a recipe is a TOML file", self.exprun("check", "vocab.bpe", code=2).err)

    def test_wrong_paths_of_evaluations_are_told_once(self):
        recipe = self.folder / "tiny.toml"
        recipe.write_text(recipe.read_text() + '[evaluation.hellaswag]\npath = 3\n[evaluation.sample]\npath = "x"\n')
        self.assertEqual(self.exprun("check", "tiny.toml", code=2).err, """\
tiny.toml:29:8: error: 'path' must be a string, got an integer
    path = 3
           ^ put it in quotes
tiny.toml:31:1: error: unknown key 'path' in [evaluation.sample]
    path = "x"
    ^^^^ the keys of [evaluation.sample] are type, every, prompt, instruction, system, tokens, temperature, top_k, top_p, stop, end_of_text, seed and samples
""")

    def test_what_the_data_tell_is_said_before_and_after_they_are_prepared(self):
        prompt = ("tiny.toml", "evaluation.sample.prompt='A Zoo'")
        wrong_prompt = ("<override 1>:1:26: error: the prompt contains 'A', which the tokenizer does not know\n"
                        "    evaluation.sample.prompt='A Zoo'\n"
                        "                             ^^^^^^^ it knows only the characters of the text that it was made from\n")
        small = ("tiny.toml", "vocab_size=20")
        characters = len(set((self.folder / "text.txt").read_text()))
        wrong_size = (f"<override 1>:1:12: error: 'vocab_size' must be >= {characters}, the size of the dataset's vocabulary\n"
                      "    vocab_size=20\n"
                      "               ^^ \"auto\" uses that number\n")
        for prepared in (False, True):
            with self.subTest(prepared=prepared):
                self.assertEqual((self.folder / "runs").exists(), prepared)
                for words, message in ((prompt, wrong_prompt), (small, wrong_size)):
                    self.assertEqual(self.exprun("check", *words, code=2).err, message)
                    self.assertEqual(self.exprun(*words, code=2).err, message)
            if not prepared:
                self.exprun("tiny.toml", "steps=2")
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(1,)])

    def test_a_text_that_changed_is_judged_as_it_is_now(self):
        words = ("tiny.toml", "steps=2", "evaluation.sample.prompt=little")
        self.exprun(*words)
        self.write("text.txt", (self.folder / "text.txt").read_text().replace("little", "LITTLE"))
        self.assertEqual(self.exprun("check", *words, code=2).err, """\
<override 2>:1:26: error: the prompt contains 'l', which the tokenizer does not know
    evaluation.sample.prompt=little
                             ^^^^^^ it knows only the characters of the text that it was made from
""")

    def test_a_small_text_tells_the_length_of_its_epoch_before_it_is_prepared(self):
        words = ("tiny.toml", "~run.steps", "run.length='1 epoch'")
        plan = self.exprun("check", *words).out
        self.assertRegex(plan, r"length +\d+ steps")
        self.exprun(*words)
        self.assertEqual(self.exprun("check", *words).out.split("  time")[0], plan)

    def test_a_large_text_that_was_prepared_just_now_tells_the_length_of_its_epoch(self):
        self.write("text.txt", (self.folder / "text.txt").read_text() * 200)
        self.assertGreater((self.folder / "text.txt").stat().st_size, 4 << 20)
        words = ("tiny.toml", "~run.steps", "run.length='0.001 epochs'")
        self.assertIn("the plan is known once its data has been prepared", self.exprun("check", *words).out)
        self.exprun(*words, "evaluation.val_loss.tokens=100")
        self.assertRegex(self.exprun("check", *words).out, r"length +\d+ steps")

    def test_examples_that_take_longer_than_the_training_are_told_by_check_and_by_the_run(self):
        self.write("quiz.jsonl", json.dumps({"context": "7" * 500, "endings": ["8", "1"], "label": 0}) + "\n")
        self.write("many.jsonl", (self.folder / "quiz.jsonl").read_text() * 300)
        words = ("tiny.toml", "evaluation.quiz={type='completion',path='many.jsonl'}")
        said = "<override 1>:1:1: warning: [evaluation.quiz] may take longer than the training: it reads about 300,000 tokens 11 times, but "
        self.assertIn(said, self.exprun("check", *words).err)
        self.assertEqual(self.exprun(*words, "steps=2").err.count("[evaluation.quiz] may take longer than the training"), 1)
        self.assertNotIn("take longer", self.exprun("check", *words, "evaluation.quiz.examples=10").err)
        self.assertIn("[evaluation.quiz] may take longer than the training", self.exprun("sweep", *words, "lr=1e-3,1e-2", "--dry-run").err)

    def test_few_tokens_that_a_large_model_is_evaluated_on_are_told(self):
        words = ("tiny.toml", "hidden_size=768", "num_layers=12", "num_heads=12", "evaluation.val_loss.every='1 step'", "steps=40")
        self.assertIn("[evaluation.val_loss] may take longer than the training", self.exprun("check", *words).err)
        self.assertEqual(self.exprun("check", "tiny.toml", *words[-2:]).err, "")

    def test_a_plan_fits_its_terminal(self):
        self.exprun("tiny.toml", "name=a-name-that-is-rather-long")
        shown = self.at_terminal(80, "check", "tiny.toml", colors=False)
        self.assertRegex(shown, r"\n  time         about \S+, \S+ of it training at [\d,]+ tokens/s, the speed\n"
                                r"               of a-name-that-is-rather-long-\w{8}\n")
        self.assertLessEqual(max(map(len, shown.splitlines())), 80)
        for other in "steps=1000", "evaluation.val_loss.every=1 step":  # of neither is known what its evaluations take
            said = self.exprun("check", "tiny.toml", other).out
            self.assertRegex(said, r"\n  time         about \S+ of training, evaluations not counted, at .* of "
                                   r"a-name-that-is-rather-long-\w{8}\n")

    def test_a_run_says_once_what_only_the_data_tell(self):
        for words in ["--new"], ["--new", "name=again"]:  # the second time the data are prepared
            said = self.exprun("tiny.toml", "steps=1", "batch.sequences=2000", *words).err
            self.assertEqual(said.count("one step takes 32,000 tokens, more than the training data has"), 1, said)

    def test_a_vocabulary_smaller_than_that_of_the_shards_tokenizer(self):
        vocabulary = fixture(self, "data/vocab.bpe").parent
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=gpt2", f"vocabulary={vocabulary}", "--out", "shards")
        dataset = f"{{ type = 'token_shards', train = 'shards/train_*.bin', tokenizer = 'gpt2', vocabulary = '{vocabulary}' }}"
        (self.folder / "tiny.toml").write_text(
            re.sub(r"\[dataset\].*?\n\n", "", (self.folder / "tiny.toml").read_text(), flags=re.S))
        (self.folder / "shards.toml").write_text(f"dataset = {dataset}\n" + (self.folder / "tiny.toml").read_text())
        said = self.exprun("check", "shards.toml", "vocab_size=50256", code=2).err
        self.assertIn("error: 'vocab_size' must be >= 50257, the size of the dataset's vocabulary", said)
        self.assertIn("no mistakes", self.exprun("check", "shards.toml", "vocab_size=50257").out)

    def test_a_vocabulary_smaller_than_the_tokens_of_described_shards(self):
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=byte", "--out", "shards")
        text = re.sub(r"\[dataset\].*?\n\n", "", (self.folder / "tiny.toml").read_text(), flags=re.S)
        self.write("shards.toml", "dataset = { type = 'token_shards', train = 'shards/train_*.bin' }\n" + text)
        largest = max((self.folder / "text.txt").read_bytes())
        said = f"error: 'vocab_size' must be >= {largest + 1}: the data has the token {largest}\n"
        for command in ("check", "shards.toml"), ("shards.toml",):
            self.assertIn(said, self.exprun(*command, f"vocab_size={largest}", code=2).err)
            self.assertIn("write tokenizer = \"prepared\" in [dataset]", self.exprun(*command, code=2).err)
        self.assertFalse((self.folder / "runs/exprun.db").exists())
        self.exprun("shards.toml", f"vocab_size={largest + 1}", "steps=2")
        self.exprun("shards.toml", "dataset.tokenizer=prepared", "steps=2", "name=whole")

    def test_examples_that_are_not_here(self):
        words = ("tiny.toml", "evaluation.hellaswag.path=data/hellaswag/hellaswag_val.jsonl")
        message = ("'data/hellaswag/hellaswag_val.jsonl' does not exist\n"
                   "    evaluation.hellaswag.path=data/hellaswag/hellaswag_val.jsonl\n"
                   "                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ get it: exprun data fetch hellaswag\n")
        self.assertEqual(self.exprun("check", *words).err, "<override 1>:1:27: warning: " + message)
        self.assertEqual(self.exprun(*words, code=2).err, "<override 1>:1:27: error: " + message)
        self.assertFalse((self.folder / "runs").exists())

    def test_missing_shards_of_a_public_set_come_with_the_command_that_fetches_them(self):
        (self.folder / "recipes").symlink_to(ROOT / "recipes")
        place, lines = "recipes/gpt2_fineweb10b.toml", (ROOT / "recipes/gpt2_fineweb10b.toml").read_text().splitlines()
        expected = ""
        for line in ('train = "data/fineweb10b/fineweb_train_*.bin"', 'validation = "data/fineweb10b/fineweb_val_*.bin"'):
            start, pattern = line.index('"'), line.split('"')[1]
            expected += (f"{place}:{lines.index(line) + 1}:{start + 1}: warning: no file matches '{pattern}'\n    {line}\n"
                         f"    {' ' * start}{'^' * (len(pattern) + 2)} get it: exprun data fetch fineweb10b\n")
        said = self.exprun("check", place).err
        self.assertIn(expected, said)
        for fetched in ("gpt2_tokenizer", "hellaswag"):
            self.assertEqual(len(re.findall(rf"exprun data fetch {fetched}[;\n]", said)), 1)

    def test_what_is_no_table_is_said_whatever_would_read_it(self):
        without = re.sub(r"\[dataset\].*?\n\n", "", (self.folder / "tiny.toml").read_text(), flags=re.S)
        for table, value, got in (("dataset", "3", "an integer"), ("evaluation", "[1]", "an array"), ("sweep", "3", "an integer")):
            base = without if table == "dataset" else (self.folder / "tiny.toml").read_text()
            self.write("wrong.toml", f"{table} = {value}\n{base}")
            for command in ("check", "sweep"):
                words = ["lr=1,2"] if command == "sweep" else []
                self.assertIn(f"wrong.toml:1:{len(table) + 4}: error: '{table}' must be a table, got {got}\n",
                              self.exprun(command, "wrong.toml", *words, code=2).err)
        self.write("wrong.toml", f"[[sweep]]\n{(self.folder / 'tiny.toml').read_text()}")
        self.assertIn("'sweep' must be a table, got an array\n", self.exprun("check", "wrong.toml", code=2).err)

    def test_a_variable_that_is_not_set(self):
        words = ("tiny.toml", "dataset.path='${env:EXPRUN_TEST_NONE}/text.txt'")
        said = ("the environment variable EXPRUN_TEST_NONE is not set; set it, or write ${env:EXPRUN_TEST_NONE:default}\n"
                "    dataset.path='${env:EXPRUN_TEST_NONE}/text.txt'\n                 ^")
        self.assertIn("<override 1>:1:14: warning: " + said, self.exprun("check", *words).err)
        self.assertIn("<override 1>:1:14: error: " + said, self.exprun(*words, code=2).err)

    def test_examples_are_one_file(self):
        for path, message in (("'*.txt'", "warning: '*.txt' does not exist"), ("'-'", "warning: '-' does not exist"),
                              (".", "error: '.' is not a regular file")):
            code = 2 if path == "." else 0
            self.assertIn(message, self.exprun("check", "tiny.toml", f"evaluation.hellaswag.path={path}", code=code).err)

    def test_mistakes_of_the_text_do_not_hide_those_that_the_data_show(self):
        words = ("tiny.toml", "model.hidden=3", "evaluation.val_loss.tokens=1_000_000")
        for command in ("check", *words), words:
            said = self.exprun(*command, code=2).err
            self.assertIn("unknown key 'model.hidden'", said)
            self.assertIn("error: 'tokens' must be <= ", said)

    def test_what_decays_is_what_weight_decay_is_applied_to(self):
        muon = '+optimizer.groups.matrices={match=["blocks.*.attention.*.weight","blocks.*.feed_forward.*.weight"],type="muon",lr=0.02'
        for words, decayed in ((("weight_decay=0.0",), ["0"]), (("optimizer.type=sgd",), ["0"]),
                               ((muon + "}",), ["0"]), ((muon + ",weight_decay=0.1}",), None)):
            said = re.findall(r": (\w+), ([\d,]+) parameters, ([\d,]+) of them decayed", self.exprun("check", "tiny.toml", *words).out)
            self.assertEqual([last for _, _, last in said][-1:], decayed or [said[-1][1]], said)
        ((_, count, decayed),) = re.findall(r": (adamw), ([\d,]+) parameters, ([\d,]+) of them", self.exprun("check", "tiny.toml").out)
        self.assertTrue(0 < int(decayed.replace(",", "")) < int(count.replace(",", "")))

    def test_a_mistake_about_data_that_is_here_is_one_for_check_too(self):
        said = ("error: 'validation_fraction' and 'validation' both choose what is kept for validation\n"
                "    dataset.validation_fraction=0.2\n                                ^^^ keep one of them\n")
        words = ("tiny.toml", "validation=text.txt", "dataset.validation_fraction=0.2")
        for command in ("check", *words), words:
            self.assertIn(said, self.exprun(*command, code=2).err)
        self.assertIn("both choose", self.exprun("check", "tiny.toml", "validation=text.txt", "dataset.validation_fraction=0.1", code=2).err)
        self.write("bad.jsonl", '{"question": "Why?"}\n')
        self.write("packed.jsonl.gz", gzip.compress((self.folder / "bad.jsonl").read_bytes()))
        for command in ("check", "tiny.toml"), ("tiny.toml",):
            for file in "bad.jsonl", "packed.jsonl.gz":
                self.assertIn(f"error: record 1 of '{file}' (line 1) has no field 'text'",
                              self.exprun(*command, f"path={file}", code=2).err)

    def test_examples_of_evaluations_are_looked_at(self):
        self.write("words.jsonl", '{"text": "the little ships"}\n\n{"txt": "no text"}\n')
        self.write("accent.jsonl", '{"ctx": "little", "endings": ["ships", "séa"], "label": 0}\n')
        for changes, said in (
                (("evaluation.own.type=completion", "evaluation.own.path=words.jsonl"),
                 ":1:21: error: line 3 of 'words.jsonl' is not a completion example\n    evaluation.own.path=words.jsonl\n"
                 "                        ^^^^^^^^^^^ a file has one JSON object per line: of ARC, PIQA, LAMBADA or HellaSwag, or with context, "
                 "endings and label\n"),
                (("evaluation.hellaswag.path=accent.jsonl",),
                 ":1:27: error: 'é' (U+00E9) is not one of the 28 characters that the tokenizer knows\n"
                 "    evaluation.hellaswag.path=accent.jsonl\n                              ^^^^^^^^^^^^ "),
                (("evaluation.hellaswag.path=text.txt",),
                 ":1:27: error: line 1 of 'text.txt' is not a HellaSwag example\n    evaluation.hellaswag.path=text.txt\n"
                 "                              ^^^^^^^^ HellaSwag has one JSON object per line, with ctx, endings and label\n")):
            with self.subTest(changes=changes):
                for command in ("check", "tiny.toml"), ("tiny.toml", "steps=2"):
                    self.assertIn(said, self.exprun(*command, *changes, code=2).err)
                self.assertFalse((self.folder / "runs/exprun.db").exists())
        self.exprun("tiny.toml", "steps=2", "evaluation.own.type=completion", "evaluation.own.path=words.jsonl", "evaluation.own.examples=1")

    def test_examples_are_found_through_the_environment(self):
        self.write("examples/hellaswag.jsonl", '{"ctx": "little", "endings": ["ships", "sea", "home", "out"], "label": 0}\n')
        with mock.patch.dict(os.environ, {"EXAMPLES": str(self.folder / "examples")}):
            self.exprun("tiny.toml", "steps=2", "evaluation.hellaswag.path='${env:EXAMPLES}/hellaswag.jsonl'")
        self.assertEqual(self.rows("SELECT count(*) FROM metrics WHERE name = 'hellaswag/acc'"), [(3,)])


if __name__ == "__main__":
    unittest.main()
