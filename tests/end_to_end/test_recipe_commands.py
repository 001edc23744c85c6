"""The commands around recipes: check, show, schema and new, as a user and a script see them."""
import array
import contextlib
import json
import pathlib
import pickle
import re
import shutil
import struct
import sqlite3
import tomllib
import unittest

from support import ROOT, ExprunTest


def types(kind):
    return sorted(path.name.removesuffix(".schema.json") for path in (ROOT / "schemas" / kind).glob("*.json"))


MODELS, DATASETS = types("model"), types("dataset")


class Check(ExprunTest):
    def report(self, *words, code=0):
        return json.loads(self.exprun("check", *words, "--json", code=code).out)

    def test_mistakes_and_lacks_come_together_in_file_order(self):
        text = (self.folder / "tiny.toml").read_text()
        self.write("tiny.toml", text.replace("text.txt", "nothing.txt").replace("num_heads", "num_head")
                   .replace("lr = 1e-2", 'lr = "1e-2"'))
        report = self.report("tiny.toml", "batch.micro_batch=3", code=2)
        found = [(item["severity"], item["where"]["file"], item["where"]["line"], item["message"])
                 for item in report["diagnostics"]]
        self.assertEqual(found, [
            ("error", "tiny.toml", 10, "unknown key 'num_head' in [model]"),
            ("warning", "tiny.toml", 16, "'nothing.txt' does not exist"),
            ("error", "tiny.toml", 24, "'lr' must be a float, got a string"),
            ("error", "<override 1>", 1, "'micro_batch' must divide the global batch of 4 sequences")])
        self.assertEqual((report["hash"], report["plan"]), (None, None))

    def test_a_file_that_is_no_toml_is_reported_as_json_too(self):
        self.write("bad.toml", "[run\n")
        (item,) = self.report("bad.toml", code=2)["diagnostics"]
        self.assertEqual(item["where"], {"file": "bad.toml", "line": 1, "column": 5, "length": 1})

    def test_a_plan_that_cannot_be_made_loses_nothing_that_was_found(self):
        words = ("tiny.toml", "tokenizer=byte", "hidden_size=1000000000", "checkpoint.every=1000000 steps", "steps=2")
        report = self.report(*words, code=1)
        self.assertEqual([item["message"] for item in report["diagnostics"]], ["'checkpoint.every' is longer than the run"])
        self.assertIsNone(report["plan"])
        self.assertRegex(report["plan_error"], r"^memory: a tensor of \[\d+, \d+\] elements is larger than any memory; "
                                               "use a smaller model$")
        said = self.exprun("check", *words, code=1)
        self.assertEqual(said.out, "")
        self.assertRegex(said.err, r"^<override 3>")
        self.assertTrue(said.err.endswith(f"\nexprun: error: {report['plan_error']}\n"), said.err)

    def test_what_components_refuse_has_its_place(self):
        report = self.report("tiny.toml", "tokenizer=byte", "steps=2", code=0)
        self.assertEqual(report["plan"]["steps"], 2)
        group = '+optimizer.groups.none={match = ["nothing.*"], type = "adamw", lr = 1e-3}'
        (item,) = self.report("tiny.toml", "tokenizer=byte", group, code=2)["diagnostics"]
        self.assertEqual((item["message"], item["where"]["file"]),
                         ("no parameter matches group 'none'", "<override 2>"))
        column = group.index("[") + 1
        carets = "^" * len('["nothing.*"]')
        said = self.exprun("check", "tiny.toml", "tokenizer=byte", group, code=2).err
        said, name = said.split(" one parameter is named ")
        self.assertEqual(said, f"<override 2>:1:{column}: error: no parameter matches group 'none'\n"
                         f"    {group}\n    {' ' * (column - 1)}{carets}")
        self.assertRegex(name, r"^'blocks\.0\.[a-z_.]+'\n$")

    def test_the_plan_knows_data_and_speed_of_an_earlier_run(self):
        epochs = ("~steps", "run.length='2 epochs'")
        self.write("large.txt", 250 * (self.folder / "text.txt").read_text())
        self.assertIn("once its data has been prepared", self.exprun("check", "tiny.toml", "path=large.txt", *epochs).out)
        before = self.report("tiny.toml", "path=large.txt")["plan"]
        self.assertEqual((before["steps"], before["epochs"], "time" in before), (40, None, False))
        self.assertIn(", 2 epochs\n", self.exprun("check", "tiny.toml", *epochs).out)  # of a small text
        self.exprun("tiny.toml")
        plan = self.report("tiny.toml")["plan"]
        (speeds,) = self.rows("SELECT count(*) FROM metrics WHERE name = 'tokens_per_s'")
        self.assertEqual(speeds, (40,))
        self.assertGreater(plan["time"]["tokens_per_second"], 0)
        self.assertAlmostEqual(plan["time"]["training_seconds"] * plan["time"]["tokens_per_second"], plan["tokens"], delta=1)
        tokens = sum(len(line) for line in (self.folder / "text.txt").read_text().splitlines(True))
        blocks = (int(tokens * 0.9) - 1) // 16
        self.assertAlmostEqual(plan["epochs"], 40 * 4 / blocks, delta=0.01)
        self.assertIn(" tokens, 1 epoch\n", self.exprun("check", "tiny.toml", "batch.sequences=1", f"run.steps={blocks}").out)
        self.assertIn("the speed of tiny-", self.exprun("check", "tiny.toml").out)
        # Another length and learning rate, whose data are not known, have that speed too.
        vocabulary = len(set((self.folder / "text.txt").read_text()))
        other = self.report("tiny.toml", "steps=80", "lr=0.5", f"vocab_size={vocabulary}")["plan"]
        self.assertEqual(other["time"]["tokens_per_second"], plan["time"]["tokens_per_second"])
        wider = self.report("tiny.toml", f"vocab_size={vocabulary}", "hidden_size=32")["plan"]
        self.assertNotIn("time", wider)

    def test_facts_of_the_data_are_judged(self):
        self.exprun("tiny.toml", "evaluation.sample.prompt=sea")
        report = self.report("tiny.toml", "evaluation.sample.prompt=sea")
        self.assertEqual([item["message"] for item in report["diagnostics"]], [])

    def test_a_prompt_that_the_tokenizer_cannot_encode_is_refused_before_the_run(self):
        result = self.exprun("tiny.toml", "evaluation.sample.prompt=Ärger", code=2)
        self.assertEqual(result.err.splitlines()[-3:], [
            "<override 1>:1:26: error: the prompt contains 'Ä', which the tokenizer does not know",
            "    evaluation.sample.prompt=Ärger",
            "                             ^^^^^ it knows only the characters of the text that it was made from"])

    def test_more_threads_than_cores_are_a_warning(self):
        (item,) = self.report("tiny.toml", "threads=9999", "tokenizer=byte")["diagnostics"]
        self.assertEqual((item["severity"], item["where"]["file"]), ("warning", "<override 1>"))
        strict = self.exprun("check", "tiny.toml", "threads=9999", "--strict", code=2)
        loose = self.exprun("check", "tiny.toml", "threads=9999")
        self.assertEqual((strict.out, strict.err), ("", loose.err.replace(": warning: ", ": error: ", 1)))
        (item,) = self.report("tiny.toml", "threads=9999", "tokenizer=byte", "--strict", code=2)["diagnostics"]
        self.assertEqual(item["severity"], "error")

    def test_quiet(self):
        self.assertEqual(self.exprun("check", "tiny.toml", "-q").out, "")
        loud, quiet = (self.exprun("check", "tiny.toml", "threads=9999", *words) for words in ((), ("-q",)))
        self.assertEqual((quiet.out, quiet.err), ("", loud.err))


class Show(ExprunTest):
    def test_what_is_shown_is_the_same_recipe(self):
        shown = self.exprun("show", "tiny.toml", "lr=3e-4").out
        self.write("again.toml", shown)
        hashes = [json.loads(self.exprun("show", *words, "--json").out)["hash"]
                  for words in (("tiny.toml", "lr=3e-4"), ("again.toml",))]
        self.assertEqual(hashes[0], hashes[1])
        self.assertEqual(self.exprun("show", "again.toml").out, shown)
        self.assertTrue(shown.startswith("version = 1\n"))

    def test_json_is_the_toml(self):
        words = ("tiny.toml", "tags=[a, b]")
        shown = self.exprun("show", *words).out
        toml = tomllib.loads(re.sub('= "auto"  # derived: ', "= ", shown))
        recipe = json.loads(self.exprun("show", *words, "--json").out)["recipe"]
        self.assertEqual((toml.pop("version"), recipe["optimizer"].pop("groups")), (1, {}))  # TOML leaves {} out
        self.assertEqual(recipe, toml)

    def test_a_recipe_with_another_rule_of_validation_is_shown_as_one_that_runs(self):
        self.write("held.txt", (self.folder / "text.txt").read_text())
        for rule in "validation=held.txt", "validation_tokens=100", "validation_every=2":
            self.write("shown.toml", self.exprun("show", "tiny.toml", rule, "dataset.separator=7").out)
            self.assertIn("shown.toml: no mistakes\n", self.exprun("check", "shown.toml").out)
            self.assertIn("finished at step 2/2", self.exprun("shown.toml", "steps=2", "seed=2").err)

    def test_origins_name_file_and_line(self):
        self.write("child.toml", 'extends = "tiny.toml"\n[run]\nseed = 5\n')
        words = ("show", "child.toml", "lr=0.5", "--origin")
        lines = {line.split()[0]: line.split()[-1] for line in self.exprun(*words).out.splitlines()}
        self.assertEqual({key: lines[key] for key in
                          ("run.seed", "run.steps", "optimizer.lr", "optimizer.eps", "checkpoint.every")},
                         {"run.seed": "child.toml:3", "run.steps": "tiny.toml:3", "optimizer.lr": "override",
                          "optimizer.eps": "default", "checkpoint.every": "derived"})
        origins = {item["key"]: item for item in json.loads(self.exprun(*words, "--json").out)["origins"]}
        self.assertEqual(origins["run.seed"], {"key": "run.seed", "value": 5, "origin": "file",
                                               "file": "child.toml", "line": 3})

    def test_a_sweep_is_shown_by_its_axes_and_its_first_trial(self):
        self.write("swept.toml", 'extends = "tiny.toml"\n[sweep.axes]\nlr = [1e-2, 1e-3]\n"model.num_layers" = "1,2"\n')
        shown = self.exprun("show", "swept.toml").out
        self.assertTrue(shown.startswith("""\
# sweep       4 trials, the first of which is shown
# axes        optimizer.lr: 0.01, 0.001
#             model.num_layers: 1, 2

version = 1
"""), shown)
        self.write("first.toml", shown)
        hashes = [json.loads(self.exprun(*words, "--json").out)["hash"] for words in
                  (("show", "swept.toml"), ("check", "swept.toml"), ("show", "first.toml"))]
        self.assertEqual(hashes, hashes[:1] * 3)
        # The command line changes the sweep as it does for `exprun sweep`.
        shown = json.loads(self.exprun("show", "swept.toml", "lr=3e-3", "seed=1,2,3", "--json").out)
        self.assertEqual((shown["trials"], shown["axes"], shown["recipe"]["optimizer"]["lr"]),
                         (6, {"model.num_layers": [1, 2], "run.seed": [1, 2, 3]}, 3e-3))
        self.assertIn("sweep       one trial\n\nversion", self.exprun("show", "swept.toml", "lr=3e-3", "num_layers=1").out)
        self.assertTrue(self.exprun("show", "swept.toml", "~sweep").out.startswith("version = 1\n"))

    def test_other_views_of_a_sweep_are_of_its_first_trial(self):
        self.write("points.csv", "num_layers\n1\n2\n")
        self.write("swept.toml", 'extends = "tiny.toml"\n[sweep]\npoints = "points.csv"\nseeds = 2\n[sweep.axes]\nlr = [1e-2, 1e-3]\n')
        result = self.exprun("show", "swept.toml", "steps=3", "--origin")
        self.assertEqual(result.err, "exprun: a sweep of 8 trials, the first of which is shown\n")
        lines = {line.split()[0]: line.split()[-1] for line in result.out.splitlines()}
        self.assertEqual({key: lines[key] for key in ("optimizer.lr", "model.num_layers", "run.seed", "run.steps")},
                         {"optimizer.lr": "swept.toml:6", "model.num_layers": "points.csv:2", "run.seed": "swept.toml:4",
                          "run.steps": "override"})
        origins = {item["key"]: item for item in
                   json.loads(self.exprun("show", "swept.toml", "--origin", "--json").out)["origins"]}
        self.assertEqual(origins["optimizer.lr"],
                         {"key": "optimizer.lr", "value": 0.01, "origin": "file", "file": "swept.toml", "line": 6})
        self.assertIn("schedule constant, 3 updates", self.exprun("show", "swept.toml", "steps=3", "--schedule").out)
        self.assertEqual(self.exprun("show", "swept.toml", "lr=5e-3,1", "--diff", "tiny.toml").out.splitlines()[1].split(),
                         ["optimizer.lr", "0.005", "0.01"])

    def test_what_the_data_of_a_run_told_is_said_to_be_derived(self):
        self.exprun("tiny.toml", "steps=2")
        characters = len(set((self.folder / "text.txt").read_text()))
        shown = self.exprun("show", "1").out
        self.assertIn(f'\nvocab_size = "auto"  # derived: {characters}\n', shown)
        self.assertIn('\npeak_tflops = "auto"\n', shown)
        self.write("again.toml", shown)
        hashes = {json.loads(self.exprun("show", what, "--json").out)["hash"] for what in ("1", "again.toml")}
        self.assertEqual(len(hashes), 1)
        self.assertRegex(self.exprun("show", "1", "--origin").out, rf"\nmodel\.vocab_size +{characters} +derived\n")
        width, length = '\nfeed_forward_size = "auto"  # derived: {}\n', '\ndecay_until = "auto"  # derived: "{} steps"\n'
        steps = json.loads(self.exprun("show", "1", "--json").out)["recipe"]["run"]["steps"]
        self.assertIn(width.format(64), shown)
        self.assertIn(length.format(steps), shown)
        changed = self.exprun("show", "again.toml", "hidden_size=32", "steps=77").out  # what follows from these follows
        self.assertIn(width.format(128), changed)
        self.assertIn(length.format(77), changed)
        self.write("text.txt", (self.folder / "text.txt").read_text() + "~" * 40)
        self.exprun("tiny.toml", "steps=2", "--new")
        self.assertRegex(self.exprun("compare", "1", "2").out, rf"\nmodel\.vocab_size +{characters} \(derived\) +{characters + 1} \(derived\)\n")
        self.assertEqual({line.split()[-1] for line in self.exprun("ls", "--columns", "id,vocab_size").out.splitlines()[1:]},
                         {str(characters), str(characters + 1)})

    def test_difference(self):
        self.assertEqual(self.exprun("show", "tiny.toml", "lr=0.5", "name=x", "--diff", "tiny.toml").out,
                         "key           tiny.toml lr=0.5 name=x  tiny.toml\n"
                         "optimizer.lr  0.5                      0.01\n")
        self.exprun("tiny.toml", "steps=2")
        run = self.run_folder().name
        self.assertEqual(self.exprun("show", "1", "--diff", "tiny.toml").out,
                         f"key        {run}  tiny.toml\nrun.steps  2{' ' * len(run)} 40\n")
        self.assertEqual(self.exprun("show", "tiny.toml", "--diff", "@last").out.splitlines()[0], f"key        tiny.toml  {run}")
        (row,) = json.loads(self.exprun("show", "tiny.toml", "--diff", "@last", "--json").out)
        self.assertEqual((row["key"], row["this"], row["other"]), ("run.steps", "40", "2"))
        same = self.exprun("show", "tiny.toml", "name=other", "--diff", "tiny.toml")
        self.assertEqual(same.out, "")
        self.assertEqual(same.err, "exprun: no difference: the recipes mean the same\n"
                                   "exprun: different too, without an effect on results: run.name\n")

    def test_origins_fit_a_terminal(self):
        words = ("show", "tiny.toml", "dataset.path=" + "x" * 90, "--origin")
        self.assertLessEqual(max(map(len, self.at_terminal(80, *words, colors=False).splitlines())), 80)
        self.assertIn("x" * 90, self.exprun(*words).out)

    def test_one_view_at_a_time(self):
        self.exprun("tiny.toml", "steps=2")
        for words in (("--origin", "--diff", "@last"), ("--origin", "--schedule"), ("--schedule", "--diff", "@last"),
                      ("--attempts", "--origin"), ("--attempts", "--git-diff")):
            self.assertEqual(self.exprun("show", "@last", *words, code=2).err,
                             "exprun: error: show: give only one of --origin, --diff, --schedule, --attempts and --git-diff\n")
        self.assertEqual(self.exprun("show", "@last", "--attempts", "--json", code=2).err,
                         "exprun: error: show: give only one of --json, --attempts and --git-diff\n")


    def test_a_run_of_a_newer_exprun_is_shown_as_it_was_recorded(self):
        self.exprun("tiny.toml", "steps=2")
        before = json.loads(self.exprun("show", "1", "--json").out)
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as store, store:
            for old, new in (("steps = 40", "steps = 40\\nwings = 2"), ("[run]\n", "[run]\nwings = 2\n")):
                store.execute("UPDATE blob SET content = CAST(replace(CAST(content AS TEXT), ?, ?) AS BLOB)", (old, new))
        shown = self.exprun("show", "1").out
        self.assertIn("wings = 2\n", shown)
        after = json.loads(self.exprun("show", "1", "--json").out)
        self.assertEqual(after["recipe"]["run"].pop("wings"), 2)
        self.assertEqual((after["recipe"], after["hash"]), (before["recipe"], before["hash"]))
        for words in (("1", "--origin"), ("1", "--schedule"), ("tiny.toml", "--diff", "1")):
            self.assertEqual(self.exprun("show", *words, code=2).err,
                             "exprun: error: show: this version of exprun does not understand the recipe of 1 (unknown key 'wings' "
                             "in [run]); another version wrote it, and `exprun show 1` prints it as recorded\n")
        for command in (("rerun", "1", "seed=2"), ("eval", "1"), ("sample", "1", "seed=2")):
            self.assertEqual(self.exprun("-q", *command, code=2).err,
                             f"exprun: error: {command[0]}: this version of exprun does not understand the recipe of 1 (unknown key 'wings' "
                             "in [run]); another version wrote it, and `exprun show 1` prints it as recorded\n")
        folder = pathlib.Path(before["folder"]).name
        self.assertEqual(self.exprun("-q", "sweep", "lr=0.1,0.2", code=2).err,
                         f"exprun: error: sweep: this version of exprun does not understand the recipe of {folder} (unknown key 'wings' "
                         f"in [run]); another version wrote it, and `exprun show {folder}` prints it as recorded\n")


class Schema(ExprunTest):
    def test_a_key_of_an_evaluation_is_named_as_in_a_recipe(self):
        prompt = self.exprun("schema", "evaluation.sample.prompt").out
        self.assertTrue(prompt.startswith('[evaluation.sample]  of evaluation "sample"\n  prompt '), prompt)
        self.assertIn("\n  temperature ", self.exprun("schema", "evaluation.mine.temperature").out)
        self.exprun("schema", "evaluation.val_loss.prompt", code=2)

    def test_a_value_is_told_from_a_key(self):
        for value, key in ("swiglu", "model.activation"), ("rotary", "model.position.type"):
            self.assertEqual(self.exprun("schema", value, code=2).err,
                             f"exprun: error: schema: '{value}' is a value of '{key}'; exprun schema {key} explains it\n")

    def test_every_key_of_every_schema_is_explained(self):
        for file in sorted((ROOT / "schemas").rglob("*.schema.json")):
            name = str(file.relative_to(ROOT / "schemas")).removesuffix(".schema.json")
            if name == "recipe":
                continue
            schema = json.loads(file.read_text())
            text = " ".join(self.exprun("schema", name).out.split())
            for key, node in schema.get("properties", {}).items():
                self.assertIn(" " + key if node["type"] != "object" else f".{key}]", text, name)
                self.assertIn(" ".join(node["description"].split()), text, name)
            self.assertEqual(json.loads(self.exprun("schema", name, "--json").out), schema)

    def test_one_key_as_it_is_shown(self):
        self.assertIn("""\
  betas               array of 2 x float >= 0, < 1; default [0.9, 0.95]
                      decay rates of the running means of the gradient and of
                      its square
""", self.exprun("schema", "optimizer/adamw").out)

    def test_without_a_name(self):
        text = self.exprun("schema").out
        for table in ("run", "model", "sweep"):
            self.assertRegex(text, rf"(?m)^  {table} ")
        self.assertEqual(self.exprun("schema", "--json").out, (ROOT / "schemas/recipe.schema.json").read_text())

    def test_a_key_wherever_it_stands(self):
        for name in ("dropout", "model.dropout"):
            self.assertEqual(self.exprun("schema", name).out, """\
[model]  of model "gpt"
  dropout             float >= 0, < 1; default 0.0
                      probability that an activation is dropped during training;
                      masks are drawn for each micro-batch, so another
                      batch.micro_batch draws others. Evaluations use no dropout
                      [probability]
""" + ("""
[model.lora]  of model "gpt"
  dropout             float >= 0, < 1; default 0.0
                      probability that an input of an adapter is dropped during
                      training [probability]
""" if name == "dropout" else ""))
        text = self.exprun("schema", "betas").out
        self.assertIn('[optimizer]  of optimizer "adam" or "adamw"\n  betas ', text)
        self.assertIn('\n\n[optimizer]  of optimizer "lion"\n  betas ', text)

    def test_a_type_with_a_dot(self):
        for name in ("dataset/text", "optimizer/adamw"):
            self.assertEqual(self.exprun("schema", name.replace("/", ".")).out, self.exprun("schema", name).out)
            self.assertEqual(self.exprun("schema", name.replace("/", "."), "--json").out, self.exprun("schema", name, "--json").out)

    def test_a_type_alone(self):
        self.assertEqual(self.exprun("schema", "adamw").out, self.exprun("schema", "optimizer/adamw").out)

    def test_a_table_below_a_table(self):
        for name in ("norm", "model.norm"):
            text = self.exprun("schema", name).out
            self.assertTrue(text.startswith('[model.norm]  of model "gpt"\n'), text)
            self.assertIn("\n  eps  ", text)

    def test_a_key_as_json(self):
        found = json.loads(self.exprun("schema", "betas", "--json").out)
        self.assertEqual([(item["table"], item["types"]) for item in found],
                         [("optimizer", ["adam", "adamw"]), ("optimizer", ["lion"])])
        schema = json.loads((ROOT / "schemas/optimizer/lion.schema.json").read_text())
        self.assertEqual(found[1]["schema"], {"properties": {"betas": schema["properties"]["betas"]}})

    def test_an_unknown_name(self):
        self.exprun("schema", "lrr", "--json", code=2)
        self.assertEqual(self.exprun("schema", "schedule/cosin", code=2).err,
                         "exprun: error: schema: there is no table, type or key 'schedule/cosin'; "
                         "did you mean 'schedule/cosine'?\n")
        for name, meant in (("weigth_decay", "weight_decay"), ("betsa", "betas"), ("batas", "betas"), ("extend", "extends"),
                            ("model.norm.esp", "model.norm.eps"), ("optimizer.groups.NAME.mach", "optimizer.groups.NAME.match"),
                            ("optimiser", "optimizer")):
            self.assertEqual(self.exprun("schema", name, code=2).err,
                             f"exprun: error: schema: there is no table, type or key '{name}'; did you mean '{meant}'?\n")

    def test_the_keys_outside_of_the_tables(self):
        version = """\
  version             1; default 1
                      version of the recipe language; within a version, no
                      default changes and no key loses its meaning
"""
        self.assertEqual(self.exprun("schema", "version").out, "outside of the tables\n" + version)
        self.assertIn("outside of the tables\n  extends  ", self.exprun("schema", "extends").out)
        (item,) = json.loads(self.exprun("schema", "extends", "--json").out)
        self.assertEqual((item["table"], item["types"], list(item["schema"]["properties"])), ("", [], ["extends"]))
        all_of_them = self.exprun("schema").out
        self.assertIn("\nOutside of the tables:\n  extends  ", all_of_them)
        self.assertIn(version + "\nexprun schema TABLE explains its keys.\n", all_of_them)


class New(ExprunTest):
    def test_it_runs_as_it_is_for_every_model(self):
        for model in MODELS:
            with self.subTest(model=model):
                name = f"first_{model}"
                self.exprun("new", name, "--model", model, "--path", "text.txt")
                self.assertEqual(self.exprun("check", f"{name}.toml", "--strict").err, "")
                self.exprun(f"{name}.toml", "steps=2", "schedule.warmup=1 step", "deterministic=true", "threads=1")

    def test_every_model_and_kind_of_data_pass_check_together(self):
        shards = ["path=text.txt", "shard_tokens=10_000", "validation_tokens=10_000"]
        self.exprun("data", "prepare", *shards, "--out", "shards")
        self.write("examples.jsonl", '{"prompt": "How many ships?", "response": "Nine."}\n' * 2000)
        paths = {"instruction": "examples.jsonl", "text": "text.txt", "token_shards": "shards/train_*.bin"}
        self.assertEqual(DATASETS, sorted(paths))
        for model in MODELS:
            for data, path in paths.items():
                with self.subTest(model=model, data=data):
                    name = f"{model}_{data}"
                    self.exprun("new", name, "--model", model, "--data", data, "--path", path)
                    checked = self.exprun("check", f"{name}.toml", "--strict")
                    self.assertEqual(checked.err, "")
                    self.assertIn(f"{name}.toml: no mistakes\n  parameters  ", checked.out)

    def test_of_prepared_shards_it_knows_splits_and_tokenizer(self):
        self.exprun("data", "prepare", "path=text.txt", "validation_tokens=10_000", "--out", "shards")
        self.exprun("new", "mine", "--data", "token_shards", "--path", "shards")
        table = (self.folder / "mine.toml").read_text()
        for line in 'train = "shards/train_*.bin" ', 'validation = "shards/validation_*.bin" ', 'tokenizer = "prepared" ':
            self.assertIn("\n" + line, table)
        self.assertNotIn("\nvocab_size", table)
        self.exprun("mine.toml", "steps=2", "warmup=1 step", "num_layers=1", "sample.tokens=4")
        self.assertEqual(len(self.exprun("sample", "@last", "tokens=3", "--prompt", "a").out), len("aXYZ\n"))
        shutil.copytree(self.folder / "shards", self.folder / "moved")
        (self.folder / "moved/data.json").unlink()
        said = self.exprun("mine.toml", "train=moved/train_*.bin", code=2).err
        self.assertIn(f"there is no data.json in '{self.folder}/moved' that says which tokenizer made the tokens\n", said)

    def test_the_files_in_a_folder_are_the_data(self):
        self.exprun("data", "prepare", "path=text.txt", "validation_tokens=10_000", "shard_tokens=10_000", "--out", "shards")
        for name in "data.json", "MANIFEST.json":
            (self.folder / "shards" / name).unlink()
        text = (self.folder / "text.txt").read_text()
        for name in "notes/a.md", "notes/deeper/b.md", "notes/c.txt":
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            self.write(name, text)
        (self.folder / "mixed").mkdir()
        self.write("mixed/a.md", text)
        (self.folder / "mixed/picture.png").write_bytes(bytes(10))
        self.write("mixed/examples.jsonl", '{"prompt": "How many ships?", "response": "Nine."}\n' * 2000)
        for words, lines in (
                (("shards",), ('type = "token_shards" ', 'train = "shards/train_*.bin" ', 'validation = "shards/validation_*.bin" ')),
                (("notes",), ('path = "notes/**" ',)),
                (("mixed/",), ('path = "mixed/**/*.md" ',)),
                (("mixed", "--data", "instruction"), ('path = "mixed/**/*.jsonl" ',))):
            with self.subTest(words=words):
                name = "_".join(words).replace("/", "").replace("-", "")
                self.assertNotIn("warning", self.exprun("new", name, "--path", *words).err)
                for line in lines:
                    self.assertIn("\n" + line, (self.folder / f"{name}.toml").read_text())
                self.assertIn(f"{name}.toml: no mistakes\n", self.exprun("check", f"{name}.toml").out)

    def test_data_of_another_kind_are_told_when_a_recipe_is_written(self):
        self.write("examples.json", json.dumps([{"instruction": f"Add {n}.", "output": str(n)} for n in range(60)]))
        self.assertEqual(self.exprun("new", "mine", "--path", "examples.json").err.splitlines()[0],
                         "exprun: warning: new: the recipe cannot run yet: record 1 of 'examples.json' has no field 'text'; it has "
                         "'instruction', 'output'; [dataset] type = \"instruction\" reads such records")
        self.assertNotIn("warning", self.exprun("new", "other", "--path", "examples.json", "--data", "instruction").err)

    def test_tokens_without_a_header_are_told_from_shards_and_from_text(self):
        (self.folder / "nano").mkdir()
        for name, count in ("train", 4000), ("val", 1000):
            (self.folder / f"nano/{name}.bin").write_bytes(struct.pack(f"<{count}H", *(n * 7919 % 50257 for n in range(count))))
        for words in ("nano/train.bin", "--data", "token_shards"), ("nano", "--data", "token_shards"), ("nano",):
            self.exprun("new", "mine", "--path", *words)
            table = (self.folder / "mine.toml").read_text()
            for line in 'train = "nano/train.bin" ', 'validation = "nano/val.bin" ', 'format = "raw_uint16" ':
                self.assertIn("\n" + line, table)
            self.assertIn("mine.toml: no mistakes\n", self.exprun("check", "mine.toml").out)
            (self.folder / "mine.toml").unlink()
        self.write("nano/input.txt", (self.folder / "text.txt").read_text())
        said = self.exprun("new", "tokens", "--path", "nano").err
        self.assertIn("exprun: new: the recipe takes the tokens in 'nano'; for the text beside them, write --data text\n", said)
        self.exprun("new", "texts", "--path", "nano", "--data", "text")
        self.assertIn('\npath = "nano/input.txt" ', (self.folder / "texts.toml").read_text())
        self.exprun("new", "file", "--path", "nano/train.bin")
        self.assertRegex((self.folder / "file.toml").read_text(), r'\ntrain = "nano/train\.bin" .*\nvalidation = "nano/val\.bin" ')
        said = self.exprun("new", "both", "--path", "nano/*.bin").err
        self.assertIn("exprun: warning: new: the recipe trains on all files that \"nano/*.bin\" matches, also on 'nano/val.bin', and has no "
                      "validation; to use files with \"val\" in their names for it, write --path nano\n", said)
        self.assertEqual(self.exprun("new", "mine", "--data", "token_shards", "--path", "text.txt", code=2).err,
                         "exprun: error: new: 'text.txt' is text, not tokens; write --data text\n")
        self.assertFalse((self.folder / "mine.toml").exists())

    def test_nanogpts_characters_are_taken_as_text_or_as_tokens(self):
        folder, text = self.folder / "chars[1]", (self.folder / "text.txt").read_text() * 3
        folder.mkdir()
        characters = sorted(set(text))
        for name in "train", "val":
            (folder / f"{name}.bin").write_bytes(array.array("H", map(characters.index, text)).tobytes())
        (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": len(characters), "itos": dict(enumerate(characters))}))
        (folder / "input.txt").write_text(text)
        (folder / "prepare.py").write_text("a script")
        said = self.exprun("new", "as_text", "--path", folder.name).err
        self.assertIn("exprun: new: the recipe takes the text in 'chars[1]'; for the tokens of its characters, write --data token_shards\n", said)
        self.exprun("new", "as_tokens", "--data", "token_shards", "--path", folder.name)
        (folder / "input.txt").unlink()
        self.exprun("new", "without_text", "--path", folder.name)
        (folder / "input.txt").write_text(text)
        self.assertEqual(tomllib.loads((self.folder / "as_text.toml").read_text())["dataset"]["path"], r"chars\[1]/input.txt")
        tokens = (self.folder / "as_tokens.toml").read_text()
        self.assertIn(f"\nvocab_size = {len(characters)} ", tokens)
        self.assertEqual((self.folder / "without_text.toml").read_text(), tokens)
        for name in "as_text", "as_tokens":
            self.assertIn(f"{name}.toml: no mistakes\n", self.exprun("check", f"{name}.toml").out)
        (folder / "meta.pkl").unlink()  # which is easily left behind
        self.exprun("new", "alone", "--data", "token_shards", "--path", folder.name)
        self.assertIn(f"\nvocab_size = {len(characters)} ", (self.folder / "alone.toml").read_text())

    def test_one_of_prepared_shards_has_the_tokenizer_of_its_folder(self):
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=char", "--out", "shards")
        for name, path in ("one", "shards/train_000000.bin"), ("all", "shards"):
            self.exprun("new", name, "--path", path)
            self.assertIn('\ntokenizer = "prepared" ', (self.folder / f"{name}.toml").read_text())

    def test_of_shards_in_folders_of_the_splits_it_takes_both(self):
        for split, name in ("train", "part_0"), ("val", "part_0"), ("named/train", "train_0"), ("named/validation", "validation_0"):
            (self.folder / "data" / split).mkdir(parents=True)
            (self.folder / f"data/{split}/{name}.bin").write_bytes(struct.pack("<4000H", *(n * 7919 % 50257 for n in range(4000))))
        for path, train, validation in (("data/train", "data/train/part_*.bin", "data/val/part_*.bin"),
                                        ("data/named/train/", "data/named/train/train_*.bin",
                                         "data/named/validation/validation_*.bin")):
            with self.subTest(path=path):
                self.exprun("new", "mine", "--data", "token_shards", "--path", path)
                table = (self.folder / "mine.toml").read_text()
                self.assertIn(f'\ntrain = "{train}" ', table)
                self.assertIn(f'\nvalidation = "{validation}" ', table)
                self.assertIn("mine.toml: no mistakes\n", self.exprun("check", "mine.toml").out)
                (self.folder / "mine.toml").unlink()

    def test_of_damaged_shards_it_makes_no_recipe(self):
        whole = struct.pack("<256i", 20240520, 1, 3, *[0] * 253)
        for name, content, why in (
                ("empty", b"", "is empty; download or create it again"),
                ("odd", bytes(2001), "has an odd number of bytes (2001), so it does not contain only uint16 tokens"),
                ("cut", whole, "is truncated: its header says 3 tokens, which is 1030 bytes, but it has 1024; "
                               "download or create it again")):
            with self.subTest(name=name):
                (self.folder / f"{name}.bin").write_bytes(content)
                self.assertEqual(self.exprun("new", "mine", "--data", "token_shards", "--path", f"{name}.bin", code=1).err,
                                 f"exprun: error: token shard: '{name}.bin' {why}\n")
                self.assertFalse((self.folder / "mine.toml").exists())

    def test_what_is_commented_out_is_the_default(self):
        self.exprun("new", "mine", "--path", "text.txt")
        text = (self.folder / "mine.toml").read_text()
        plain = json.loads(self.exprun("show", "mine.toml", "--json").out)["hash"]
        self.write("all.toml", re.sub(r"(?m)^# (\w+ = )", r"\1", text).replace('name = "auto"', 'name = "mine"'))
        self.assertNotEqual((self.folder / "all.toml").read_text(), text)
        self.assertEqual(json.loads(self.exprun("show", "all.toml", "--json").out)["hash"], plain)

    def test_its_evaluations_read_no_more_than_a_part_of_what_it_trains_on(self):
        for name, words, tokens in (("large", (), "tokens = 8192 "), ("small", ("--path", "text.txt"), '# tokens = "auto" ')):
            self.exprun("new", name, *words)
            table = (self.folder / f"{name}.toml").read_text().partition("\n[evaluation.val_loss]")[2].partition("\n[")[0]
            self.assertIn("\n" + tokens, table)

    def test_the_schema_lies_beside_it_and_is_not_written_twice(self):
        self.exprun("new", "one")
        self.assertEqual((self.folder / "recipe.schema.json").read_text(),
                         (ROOT / "schemas/recipe.schema.json").read_text())
        self.assertTrue((self.folder / "one.toml").read_text().startswith("#:schema ./recipe.schema.json\n"))
        (self.folder / "below").mkdir()
        self.exprun("new", "below/two")
        self.assertFalse((self.folder / "below/recipe.schema.json").exists())
        self.assertTrue((self.folder / "below/two.toml").read_text().startswith("#:schema ../recipe.schema.json\n"))

    def test_what_comes_next_can_be_typed(self):
        self.assertEqual(self.exprun("new", "mine too", "--path", "text.txt").err,
                         "exprun: wrote mine too.toml; exprun check 'mine too.toml' shows its plan, "
                         "exprun 'mine too.toml' runs it\n")

    def test_mistakes(self):
        self.assertEqual(self.exprun("new", "tiny", code=2).err,
                         "exprun: error: new: tiny.toml already exists; give another name\n")
        self.assertIn("did you mean gpt?", self.exprun("new", "x", "--model", "gtp", code=2).err)
        self.assertEqual(self.exprun("new", "x", "--data", "token_shards", code=2).err,
                         "exprun: error: new: the path of the data is missing; give it with --path FILES\n")
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.toml")), ["tiny.toml"])


if __name__ == "__main__":
    unittest.main()
