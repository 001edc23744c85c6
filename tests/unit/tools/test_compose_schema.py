"""schemas/recipe.schema.json, which editors read: current, and of one mind with the shipped recipes."""
import json
import pathlib
import subprocess
import sys
import unittest

try:
    import jsonschema
    import tomllib
except ImportError:
    jsonschema = None

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import error_cases  # noqa: E402

SCHEMA = ROOT / "schemas/recipe.schema.json"
# What a schema can see in one file; rules over tables and missing keys are judged after merging.
REFUSED = ["enum", "range_minimum", "range_element", "range_array_size", "range_negative_batch",
           "period_integer", "period_without_unit", "period_time_refused", "type_string_for_float",
           "type_word_for_auto", "unknown_key", "unknown_key_other_table", "unknown_key_other_type",
           "unknown_table", "unknown_type", "table_is_a_value", "type_of_element"]


def parse(file):
    return tomllib.loads(file.read_text())


class ComposedSchema(unittest.TestCase):
    def test_it_is_current(self):
        result = subprocess.run([ROOT / "tools/compose_schema", "--check"], capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_every_component_has_a_branch_of_its_own(self):
        tables = json.loads(SCHEMA.read_text())["properties"]
        for kind in ("model", "dataset", "optimizer", "schedule"):
            types = {branch["properties"]["type"]["const"] for branch in tables[kind]["oneOf"]
                     if "type" in branch["properties"]}
            files = {file.name.split(".")[0] for file in (ROOT / "schemas" / kind).glob("*.json")}
            self.assertEqual(types, files)
            self.assertTrue(all(branch["additionalProperties"] is False
                                for branch in tables[kind]["oneOf"]))

    @unittest.skipUnless(jsonschema, "needs python3-jsonschema and tomllib")
    def test_shipped_recipes_are_accepted(self):
        schema = json.loads(SCHEMA.read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        validator = jsonschema.Draft7Validator(schema)
        for file in sorted((ROOT / "recipes").rglob("*.toml")):
            self.assertEqual([error.message for error in validator.iter_errors(parse(file))], [], file)

    @unittest.skipUnless(jsonschema, "needs python3-jsonschema and tomllib")
    def test_broken_recipes_are_refused(self):
        validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
        cases = error_cases.cases()
        for case in REFUSED:
            recipe = tomllib.loads(cases[case]["recipe.toml"].decode())
            self.assertFalse(validator.is_valid(recipe), case)


if __name__ == "__main__":
    unittest.main()
