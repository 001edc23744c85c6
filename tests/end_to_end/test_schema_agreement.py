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


def variants(recipe):
    yield recipe
    for path in places(recipe):
        yield changed(recipe, path, lambda table, key: table.pop(key))
        yield changed(recipe, path, lambda table, key: table.update({key + "x": table.pop(key)}))
        for other in OTHERS:
            yield changed(recipe, path, lambda table, key, other=other: table.update({key: other}))


@unittest.skipUnless(jsonschema, "needs python3-jsonschema")
class Agreement(ExprunTest):
    def recipes(self):
        group = '+optimizer.groups.all={match = ["*"], type = "adamw", lr = 0.1}'
        for words in (["tiny.toml", "evaluation.sample.tokens=5", group], [str(ROOT / "recipes/quickstart.toml")]):
            yield json.loads(self.exprun("show", *words, "--json").out)["recipe"]

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
        for recipe in self.recipes():
            cases = list(variants(recipe))
            for case, verdict in zip(cases, self.ours(cases), strict=True):
                theirs = whole.is_valid(case) and all(good(*item) for item in case.items())
                self.assertEqual(verdict == "good", theirs, f"{verdict}\n{json.dumps(case)}")
                seen["good" if theirs else "bad"] += 1
        self.assertGreater(seen["good"], 100)
        self.assertGreater(seen["bad"], 1000)


if __name__ == "__main__":
    unittest.main()
