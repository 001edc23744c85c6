"""The README tells the truth: its recipe is run, each of its commands is executed, its component compiles."""
import os
import re
import shlex
import shutil
import subprocess
import unittest

from support import ROOT, ExprunTest

README = (ROOT / "README.md").read_text()
# tools/test is what runs this test; only that it understands the line is looked at.
NESTED = re.compile(r"^tools/test\b")
MINUTES = 600  # seconds that a command may take; the quickstart is one


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


class Readme(ExprunTest):
    def setUp(self):
        super().setUp()
        for name in ("tools", "recipes", "schemas", "README.md", "build"):
            (self.folder / name).symlink_to(ROOT / name)
        (self.folder / "home").mkdir()
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.environment = {
            **os.environ, "HOME": str(self.folder / "home"), "XDG_CACHE_HOME": cache, "EXPRUN_STORE": "runs",
            "PATH": f"{self.folder}/home/.local/bin:{os.environ['PATH']}"}

    def shell(self, line):
        if NESTED.match(line):
            line += " --help"
        result = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=MINUTES)
        output = result.stdout.decode(errors="replace")
        self.assertEqual(result.returncode, 0, f"{line}\n{output}")
        return output

    def test_every_command_works_in_order(self):
        (recipe,) = blocks("toml")
        self.assertEqual(len(recipe.splitlines()), 10)
        self.write("mine.toml", recipe)
        self.shell("tools/install")
        lines = [line for block in blocks("sh") for line in block.splitlines()]
        self.assertGreater(len(lines), 7)
        for line in lines:
            with self.subTest(line=line):
                self.shell(line)
        # Two plain runs and a sweep of four, one of which is the first run already.
        self.assertEqual(self.rows("SELECT name, count(*) FROM runs WHERE state = 'finished' GROUP BY name"),
                         [("mine", 5), ("quickstart", 1)])

    def test_commands_in_the_text_are_understood(self):
        """`tools/x --option` and the rows of the table: the tools are there, the commands have a help page."""
        for tool in set(re.findall(r"`(tools/\w+)", README)):
            self.assertTrue(os.access(ROOT / tool, os.X_OK), tool)
        commands = set(re.findall(r"^\| `exprun ([a-z]+) ?", README, re.M))
        self.assertGreater(len(commands), 6)
        for command in commands:
            self.exprun(command, "--help")
        listed = re.findall(r"^  ([a-z]+)  ", self.exprun("--help").out, re.M)
        self.assertEqual(commands, set(listed) - {"help", "version"})

    def test_the_component_compiles(self):
        (source,) = blocks("cpp")
        path = self.write("component.cpp", source)
        compiler = shutil.which("c++")
        includes = [f"-I{ROOT / folder}" for folder in ("", "runner", "runner/trainer")]
        command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *includes, path]
        result = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual((result.returncode, result.stderr), (0, ""), shlex.join(map(str, command)))

    def test_adding_a_component_fits_in_thirty_lines(self):
        self.assertLess(len(README[README.index("## Adding a component"):].splitlines()), 31)


if __name__ == "__main__":
    unittest.main()
