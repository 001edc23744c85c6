"""The checkers that editors run, taplo and tombi from PyPI: nothing to say about recipes that are good, and each of a
corpus of broken ones refused."""
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import ROOT, ExprunTest

sys.path.insert(0, str(ROOT / "tests/support"))
import error_cases  # noqa: E402

VERSIONS = ["taplo==0.9.3", "tombi==1.9.6"]
# Cases of tests/errors that one file shows; what is missing, and rules over tables, are judged after merging.
BROKEN = ["enum", "period_integer", "period_time_refused", "period_without_unit", "period_zero", "path_unknown_name",
          "range_array_size", "range_element", "range_minimum", "range_negative_batch", "table_is_a_value", "toml_key_twice",
          "toml_unclosed_bracket", "type_of_element", "type_string_for_float", "type_word_for_auto", "unknown_key",
          "unknown_key_other_table", "unknown_key_other_type", "unknown_table", "unknown_type", "value_is_a_table",
          "version_newer"]
CHILD = """\
version = 1
extends = "parent.toml"

[optimizer]
weight_decay = 0.5

[optimizer.groups.matrices]
lr = 0.1

[schedule]
warmup = "1.5k steps"

[evaluation.val_loss]
every = "0.5 epochs"

[evaluation.often]
type = "val_loss"
every = "1_000 tokens"
"""


@functools.cache
def checkers():
    """The folder of the two programs, installed once; None where PyPI cannot be reached."""
    folder = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "exprun",
                          "editors-" + "-".join(version.replace("==", "-") for version in VERSIONS))
    if not (folder / "bin/tombi").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = tempfile.mkdtemp(dir=folder.parent)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", made, *VERSIONS]
        if subprocess.run(command, capture_output=True, timeout=300).returncode:
            return None
        os.rename(made, folder)
    return folder / "bin"


class Editors(ExprunTest):
    def setUp(self):
        super().setUp()
        if checkers() is None:
            self.skipTest("taplo and tombi cannot be installed")

    def said(self, file):
        """What each says and how it ends."""
        for command in (["taplo", "lint", file], ["tombi", "lint", "--offline", file]):
            result = subprocess.run([checkers() / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True,
                                    env={**os.environ, "RUST_LOG": "warn", "NO_COLOR": "1"}, timeout=300)
            yield command[0], result.returncode, result.stdout + result.stderr

    def with_schema(self, name, text):
        return self.write(name, f"#:schema {ROOT}/schemas/recipe.schema.json\n{text}")

    def test_nothing_to_say_about_good_recipes(self):
        self.exprun("new", "first")
        good = [*(ROOT / "recipes").rglob("*.toml"), self.folder / "first.toml", self.with_schema("child.toml", CHILD)]
        for file in good:
            for program, code, text in self.said(file):
                self.assertEqual(code, 0, f"{program} {file}\n{text}")
                for word in ("error", "Error", "warning", "Warning"):
                    self.assertNotIn(word, text, f"{program} {file}")

    def test_broken_recipes_are_refused(self):
        cases = error_cases.cases()
        for case in BROKEN:
            file = self.with_schema("broken.toml", cases[case]["recipe.toml"].decode())
            for program, code, text in self.said(file):
                self.assertNotEqual(code, 0, f"{program} accepts {case}\n{text}")


if __name__ == "__main__":
    unittest.main()
