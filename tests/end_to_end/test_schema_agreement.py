"""Our validator and python3-jsonschema judge resolved recipes alike, by the schemas alone."""
import copy
import importlib.machinery
import importlib.util
import json
import subprocess
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

from support import BUILD, ROOT, ExprunTest

# Put in the place of each value. Whole floats are left out: TOML tells 1.0 from 1, JSON Schema does not.
OTHERS = [True, 0, 3, -1, 10**12, 1.5, -0.5, "", "text", "auto", "0 steps", "10 steps", "2.5 epochs", "30 min", "fp32",
          "${env:HOME}/x", "${bad}", [], [1], [0.5, 0.5], ["a"], {}, {"a": 1}]


# What picks the types that tiny.toml has not, and the table that they are of.
OTHER_TYPES = [("model", ["model={type = 'mlp', hidden_size = 32, context_length = 16}"]),
               ("model", ["model.position.type=rotary", "model.norm.type=rms_norm"]),
               ("dataset", ["dataset={type = 'token_shards', train = 'a.bin', tokenizer = 'none'}", "vocab_size=256"]),
               ("optimizer", ["+optimizer.groups.x={match = ['*'], type = 'muon', lr = 1}"]),
               ("dataset", ["dataset={type = 'instruction', path = 'a.jsonl'}"]),
               ("evaluation", ["evaluation.sample.tokens=5"]),
               ("evaluation", ["tokenizer=gpt2", "evaluation.completion.path=c.jsonl", "evaluation.perplexity.path=p.txt"]),
               ("evaluation", ["tokenizer=gpt2", "evaluation.hellaswag.path=h.jsonl"]),
               ("schedule", ["schedule.type=cosine_annealing", "half_period=5 steps"]),
               *(("optimizer", [f"optimizer.type={file.name.partition('.')[0]}"]) for file in (ROOT / "schemas/optimizer").glob("*.json")),
               *(("schedule", [f"schedule.type={name}"]) for name in ("cosine", "inverse_sqrt", "linear", "wsd"))]


def compose():
    loader = importlib.machinery.SourceFileLoader("compose_schema", str(ROOT / "tools/compose_schema"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compose_schema", loader))
    loader.exec_module(module)
    return module


def places(table, path=()):
    """The path of every key, tables included."""
    for key, value in table.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from places(value, (*path, key))


def changed(recipe, path, change):
    recipe = copy.deepcopy(recipe)
    table = recipe
    for key in path[:-1]:
        table = table[key]
    change(table, path[-1])
    return recipe


def variants(recipe, tables):
    """With each key of these tables changed."""
    yield recipe
    for path in places(recipe):
        if path[0] not in tables:
            continue
        yield changed(recipe, path, lambda table, key: table.pop(key))
        yield changed(recipe, path, lambda table, key: table.update({key + "x": table.pop(key)}))
        for other in OTHERS:
            yield changed(recipe, path, lambda table, key, other=other: table.update({key: other}))


@unittest.skipUnless(jsonschema, "needs python3-jsonschema")
class Agreement(ExprunTest):
    def recipes(self):
        """Each with the tables in which it is changed."""
        for words in (["tiny.toml"], [str(ROOT / "recipes/quickstart.toml")]):
            recipe = json.loads(self.exprun("show", *words, "--json").out)["recipe"]
            yield recipe, set(recipe)
        for table, words in OTHER_TYPES:
            yield json.loads(self.exprun("show", "tiny.toml", *words, "--json").out)["recipe"], {table}

    def ours(self, recipes):
        result = subprocess.run([BUILD / "recipe_verdicts"], input="".join(json.dumps(recipe) + "\n" for recipe in recipes),
                                capture_output=True, text=True, check=True)
        return result.stdout.splitlines()

    def test_every_variant(self):
        schema = json.loads(compose().compose(resolved=True))
        jsonschema.Draft7Validator.check_schema(schema)
        whole = jsonschema.Draft7Validator({**schema, "properties": dict.fromkeys(schema["properties"], True)})
        tables = {name: jsonschema.Draft7Validator(table) for name, table in schema["properties"].items()}
        known = {}  # most variants differ in one table only

        def good(name, table):
            text = json.dumps([name, table])
            if text not in known:
                known[text] = tables[name].is_valid(table)
            return known[text]

        seen = {"good": 0, "bad": 0}
        types = set()
        for recipe, changed_tables in self.recipes():
            for kind in changed_tables:
                tables_of_kind = recipe[kind].values() if kind == "evaluation" else [recipe[kind]]
                types |= {f"{kind}/{table['type']}" for table in tables_of_kind if "type" in table}
            cases = list(variants(recipe, changed_tables))
            for case, verdict in zip(cases, self.ours(cases), strict=True):
                theirs = whole.is_valid(case) and all(good(*item) for item in case.items())
                self.assertEqual(verdict == "good", theirs, f"{verdict}\n{json.dumps(case)}")
                seen["good" if theirs else "bad"] += 1
        self.assertEqual(types, {str(file.relative_to(ROOT / "schemas")).removesuffix(".schema.json")
                                 for file in (ROOT / "schemas").glob("*/*.schema.json")})
        self.assertGreater(seen["good"], 100)
        self.assertGreater(seen["bad"], 1000)


if __name__ == "__main__":
    unittest.main()
