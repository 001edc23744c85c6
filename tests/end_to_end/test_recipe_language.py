"""The page of the recipe language, schemas/README.md: its recipes are good, its commands say what it shows, and it
knows the tables and keywords of the schemas, all of them and no others."""
import json
import os
import re
import subprocess
import unittest

from support import BUILD, ROOT, ExprunTest

PAGE = (ROOT / "schemas/README.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.M | re.S)
SCHEMAS = [json.loads(file.read_text()) for file in (ROOT / "schemas").rglob("*.json")
           if file.name != "recipe.schema.json"]


def keywords(node):
    """Those of a schema and of all schemas within it."""
    yield from node
    for inner in (*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties"),
                  *node.get("anyOf", []), *node.get("oneOf", [])):
        if isinstance(inner, dict):
            yield from keywords(inner)


class RecipeLanguage(ExprunTest):
    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"}
        for language, text in BLOCKS:
            if language == "toml":
                self.write(re.match(r"# (\S+)\n", text)[1], text)

    def shell(self, line):
        result = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        return result.returncode, result.stdout

    def test_every_command_says_what_is_shown(self):
        said = None
        commands = 0
        for language, text in BLOCKS:
            if language == "sh":
                for line in text.splitlines():
                    said = self.shell(line)
                    commands += 1
                    if "wrong.toml" not in line:
                        self.assertEqual(said[0], 0, f"{line}\n{said[1]}")
            elif language == "text":
                self.assertEqual([line.rstrip() for line in said[1].splitlines()], text.splitlines())
        self.assertGreater(commands, 6)

    def test_its_tables_are_those_of_the_schemas(self):
        listed = PAGE[PAGE.index("The tables are"):PAGE.index("are required")]
        tables = {file.name.removesuffix(".schema.json") for file in (ROOT / "schemas").glob("*.json")} - {"recipe"}
        self.assertEqual(set(re.findall(r"`\[(\w+)\]`", listed)), tables)

    def test_its_keywords_are_those_of_the_schemas(self):
        section = PAGE[PAGE.index("## Schema files"):]
        named = set(re.findall(r"`([a-zA-Z-]+)`", section)) - {"false", "type"} | {"type"}
        used = {keyword for schema in SCHEMAS for keyword in keywords(schema)} - {"$schema"}
        self.assertEqual(used - named, set())
        allowed_unused = {"anyOf", "oneOf", "const"}  # of the language, as yet without a key
        self.assertLessEqual(named - used, allowed_unused)


if __name__ == "__main__":
    unittest.main()
