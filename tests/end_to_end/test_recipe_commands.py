"""The commands around recipes: check, show, schema, new and completion, as a user and a script see them."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tomllib
import unittest

from support import BUILD, ROOT, ExprunTest

MODELS = sorted(path.name.removesuffix(".schema.json") for path in (ROOT / "schemas/model").glob("*.json"))


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
            ("error", "tiny.toml", 7, "[model] needs 'num_heads'"),
            ("error", "tiny.toml", 10, "unknown key 'num_head' in [model]"),
            ("warning", "tiny.toml", 16, "'nothing.txt' does not exist"),
            ("error", "tiny.toml", 24, "'lr' must be a float, got a string"),
            ("error", "<override 1>", 1, "'micro_batch' must divide the global batch of 4 sequences")])
        self.assertEqual((report["hash"], report["plan"]), (None, None))

    def test_a_file_that_is_no_toml_is_reported_as_json_too(self):
        self.write("bad.toml", "[run\n")
        (item,) = self.report("bad.toml", code=2)["diagnostics"]
        self.assertEqual(item["where"], {"file": "bad.toml", "line": 1, "column": 5, "length": 1})

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
        said, name = said.split(" one is called ")
        self.assertEqual(said, f"<override 2>:1:{column}: error: no parameter matches group 'none'\n"
                         f"    {group}\n    {' ' * (column - 1)}{carets}")
        self.assertRegex(name, r"^'blocks\.0\.[a-z_.]+'\n$")

    def test_the_plan_knows_data_and_speed_of_an_earlier_run(self):
        epochs = ("~steps", "run.length='2 epochs'")
        self.assertIn("once its data has been prepared", self.exprun("check", "tiny.toml", *epochs).out)
        before = self.report("tiny.toml")["plan"]  # the characters of a small text are soon known
        self.assertEqual((before["steps"], before["epochs"], "time" in before), (40, None, False))
        self.exprun("tiny.toml")
        plan = self.report("tiny.toml")["plan"]
        (speeds,) = self.rows("SELECT count(*) FROM metrics WHERE name = 'tokens_per_s'")
        self.assertEqual(speeds, (40,))
        self.assertGreater(plan["time"]["tokens_per_second"], 0)
        self.assertAlmostEqual(plan["time"]["seconds"] * plan["time"]["tokens_per_second"], plan["tokens"], delta=1)
        tokens = sum(len(line) for line in (self.folder / "text.txt").read_text().splitlines(True))
        blocks = (int(tokens * 0.9) - 1) // 16
        self.assertAlmostEqual(plan["epochs"], 40 * 4 / blocks, delta=0.01)
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
            "<override 1>:1:26: error: the text has no 'Ä', which the prompt has",
            "    evaluation.sample.prompt=Ärger",
            "                             ^^^^^ a character tokenizer knows the characters of its text only"])

    def test_more_threads_than_cores_are_a_warning(self):
        (item,) = self.report("tiny.toml", "threads=9999", "tokenizer=byte")["diagnostics"]
        self.assertEqual((item["severity"], item["where"]["file"]), ("warning", "<override 1>"))
        self.exprun("check", "tiny.toml", "threads=9999", "--strict", code=2)


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
        toml = tomllib.loads(self.exprun("show", *words).out)
        recipe = json.loads(self.exprun("show", *words, "--json").out)["recipe"]
        self.assertEqual((toml.pop("version"), recipe["optimizer"].pop("groups")), (1, {}))  # TOML leaves {} out
        self.assertEqual(recipe, toml)

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

    def test_difference(self):
        self.assertEqual(self.exprun("show", "tiny.toml", "lr=0.5", "name=x", "--diff", "tiny.toml").out.split()[-3:],
                         ["optimizer.lr", "0.5", "0.01"])
        self.exprun("tiny.toml", "steps=2")
        (row,) = json.loads(self.exprun("show", "tiny.toml", "--diff", "@last", "--json").out)
        self.assertEqual((row["key"], row["this"], row["other"]), ("run.steps", "40", "2"))
        same = self.exprun("show", "tiny.toml", "name=other", "--diff", "tiny.toml")
        self.assertEqual((same.out, "no difference" in same.err), ("", True))


class Schema(ExprunTest):
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
                      decay of the running means of the gradient and of its
                      square
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
                      probability that an activation is dropped in training,
                      never in evaluation [probability]
""")
        text = self.exprun("schema", "betas").out
        self.assertIn('[optimizer]  of optimizer "adam" or "adamw"\n  betas ', text)
        self.assertIn('\n\n[optimizer]  of optimizer "lion"\n  betas ', text)

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
                         "exprun: error: schema: there is no table, type or key 'schedule/cosin', "
                         "did you mean 'schedule/cosine'?\n")


class New(ExprunTest):
    def test_it_runs_as_it_is_for_every_model(self):
        for model in MODELS:
            with self.subTest(model=model):
                name = f"first_{model}"
                self.exprun("new", name, "--model", model, "--path", "text.txt")
                self.assertEqual(self.exprun("check", f"{name}.toml", "--strict").err, "")
                self.exprun(f"{name}.toml", "steps=2", "schedule.warmup=1 step", "deterministic=true", "threads=1")

    def test_what_is_commented_out_is_the_default(self):
        self.exprun("new", "mine", "--path", "text.txt")
        text = (self.folder / "mine.toml").read_text()
        plain = json.loads(self.exprun("show", "mine.toml", "--json").out)["hash"]
        self.write("all.toml", re.sub(r"(?m)^# (\w+ = )", r"\1", text).replace('name = "auto"', 'name = "mine"'))
        self.assertNotEqual((self.folder / "all.toml").read_text(), text)
        self.assertEqual(json.loads(self.exprun("show", "all.toml", "--json").out)["hash"], plain)

    def test_the_schema_lies_beside_it_and_is_not_written_twice(self):
        self.exprun("new", "one")
        self.assertEqual((self.folder / "recipe.schema.json").read_text(),
                         (ROOT / "schemas/recipe.schema.json").read_text())
        self.assertTrue((self.folder / "one.toml").read_text().startswith("#:schema ./recipe.schema.json\n"))
        (self.folder / "below").mkdir()
        self.exprun("new", "below/two")
        self.assertFalse((self.folder / "below/recipe.schema.json").exists())
        self.assertTrue((self.folder / "below/two.toml").read_text().startswith("#:schema ../recipe.schema.json\n"))

    def test_mistakes(self):
        self.assertEqual(self.exprun("new", "tiny", code=2).err,
                         "exprun: error: new: tiny.toml is there already; give another name\n")
        self.assertIn("did you mean gpt?", self.exprun("new", "x", "--model", "gtp", code=2).err)
        self.assertEqual(self.exprun("new", "x", "--data", "token_shards", code=2).err,
                         "exprun: error: new: where are the data? say it with --path FILES\n")
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.toml")), ["tiny.toml"])


class Completion(ExprunTest):
    def candidates(self, line):
        """What a shell is offered for the line behind `exprun`."""
        return self.exprun("completion", "candidates", "--", *line.split(" ")).out.split("\n")[:-1]

    def test_what_fits_each_place(self):
        self.exprun("tiny.toml", "steps=1")
        run = self.run_folder().name
        for line, offered in (("", ["check", "sweep", "tiny.toml", "--help"]), ("check ", ["tiny.toml"]),
                              ("check tiny.toml ", ["lr=", "optimizer.lr=", "checkpoint.every="]),
                              ("tiny.toml order=", ["order=sequential", "order=random_offsets"]),
                              ("tiny.toml schedule.type=", ["schedule.type=wsd"]),
                              ("tiny.toml bias=", ["bias=true", "bias=false"]), ("tiny.toml ~", ["~lr"]),
                              ("show ", ["tiny.toml", run, "tiny", "@last"]), ("resume ", [run]),
                              (f"resume {run} ", ["keep_last="]), ("schema ", ["optimizer", "optimizer/adamw"]),
                              ("show tiny.toml --", ["--origin", "--diff", "--store"]), ("completion ", ["fish"]),
                              ("new x --model ", MODELS)):
            found = self.candidates(line)
            for word in offered:
                self.assertIn(word, found, line)
        self.assertNotIn("every=", self.candidates("check tiny.toml "))  # it names several keys
        self.assertEqual(self.candidates("tiny.toml --store "), [])

    def complete(self, shell, line):
        """What the script makes of a line, in the shell itself."""
        script = self.exprun("completion", shell).out
        self.write(f"completion.{shell}", script)
        program = {
            "bash": f"""source completion.bash
                COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}
                IFS=' =' read -ra COMP_WORDS <<<"$COMP_LINE"; [[ $COMP_LINE == *[\\ =] ]] && COMP_WORDS+=("")
                COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _exprun; printf '%s\\n' "${{COMPREPLY[@]}}" """,
            "zsh": f"""compadd() {{ print -l -- "${{(@P)argv[-1]}}"; }}
                words=({line}); [[ {shlex.quote(line)} == *' ' ]] && words+=(''); CURRENT=$#words
                source completion.zsh; _exprun""",
            "fish": f"source completion.fish; complete -C {shlex.quote(line)}",
        }[shell]
        options = {"bash": ["--norc", "-c"], "zsh": ["-f", "-c"], "fish": ["--no-config", "-c"]}[shell]
        environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "HOME": str(self.folder)}
        result = subprocess.run([shell, *options, program], cwd=self.folder, env=environment, capture_output=True,
                                text=True, stdin=subprocess.DEVNULL, timeout=60)
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_in_the_shells_themselves(self):
        for shell in ("bash", "zsh", "fish"):
            if not shutil.which(shell):
                self.skipTest(f"{shell} is not installed")
            with self.subTest(shell=shell):
                self.assertIn("check", self.complete(shell, "exprun ch"))
                self.assertIn("tiny.toml", self.complete(shell, "exprun check t"))
                self.assertIn("weight_decay=", self.complete(shell, "exprun tiny.toml weight"))
        self.assertEqual(self.complete("bash", "exprun tiny.toml order=seq"), ["sequential"])
        self.assertIn("order=sequential", self.complete("fish", "exprun tiny.toml order=seq"))


if __name__ == "__main__":
    unittest.main()
