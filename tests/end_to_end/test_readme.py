"""The README tells the truth: its recipe is run, each of its commands is executed; the component of runner/README.md compiles."""
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import unittest

from support import BUILD, ROOT, ExprunTest

README = (ROOT / "README.md").read_text()
SOURCE = (ROOT / "runner/README.md").read_text()
# tools/test is what runs this test; only that it understands the line is looked at.
NESTED = re.compile(r"^tools/test\b")
MINE = """\
run.steps = 11
batch.sequences = 4
model = { type = "my_mlp", hidden_size = 16, context_length = 8, vocab_size = 256 }
dataset = { type = "my_token_shards", train = "shards/train_*.bin", validation = "shards/validation_*.bin" }
optimizer = { type = "my_sgd", lr = 0.1 }
schedule = { type = "SCHEDULE" }
"""
MINUTES = 600  # seconds that a command may take; the quickstart is one


def blocks(language, page=README):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


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
        rows = re.findall(r"^\| (`exprun .*?) \|", README, re.M)
        commands = {command for row in rows for command in re.findall(r"`exprun ([a-z]+)\b", row)}
        self.assertGreater(len(commands), 6)
        for command in commands:
            self.exprun(command, "--help")
        listed = re.findall(r"^  ([a-z]+)  ", self.exprun("--help").out, re.M)
        self.assertEqual(commands, set(listed) - {"help", "version"})

    def test_the_plot_is_what_the_program_draws(self):
        """All but the curves themselves, whose dots may differ between processors, and the ids of runs."""
        def frame(text):
            text = re.sub(r"quickstart-[0-9a-f]{8}", "quickstart-ID", text)
            lines = [re.sub(r"(?<=[┤│]).*", "", line) for line in text.splitlines()]
            return [re.sub(r"last ([\d.]+)", "", line) for line in lines], [float(last) for last in re.findall(r"last ([\d.]+)", text)]

        (shown,) = (block for block in blocks("text") if block.startswith("$ exprun plot"))
        drawn = self.shell("tools/screenshot --plot")
        (frame_shown, last_shown), (frame_drawn, last_drawn) = frame(shown), frame(drawn)
        self.assertEqual(frame_shown, frame_drawn)
        for a, b in zip(last_shown, last_drawn, strict=True):
            self.assertAlmostEqual(a, b, places=2)
        self.assertEqual(max(map(len, shown.splitlines())), max(map(len, drawn.splitlines())))

    def test_components_are_built_out_of_tree_and_train(self):
        """A source and a schema are all that is added for one, the README's schedule and a copy of another kind each;
        both programs are linked anew from the built objects."""
        (source,) = blocks("cpp", SOURCE)
        schedule, of = re.search(r"schemas/schedule/(\w+)\.schema\.json`, is a copy of `(\w+)\.schema\.json`", SOURCE).groups()
        self.schemas = shutil.copytree(ROOT / "schemas", self.folder / "schemas_with_them")
        sources = [self.added("schedule", of, schedule, source)]
        for kind, of in (("model", "mlp"), ("optimizer", "sgd"), ("dataset", "token_shards")):
            text = (ROOT / f"runner/trainer/{kind}/{of}.cpp").read_text()
            sources.append(self.added(kind, of, f"my_{of}", text.replace(f'registration{{"{of}"', f'registration{{"my_{of}"')))
        embedded = self.folder / "embedded.cpp"
        self.call(["cmake", "-DNAME=embedded_schemas", f"-DFOLDER={self.schemas}", "-DPATTERN=*.schema.json",
                   f"-DOUTPUT={embedded}", "-P", ROOT / "tools/cmake/write_embedded.cmake"])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(lambda path: self.compiled("runner/trainer/schedule/cosine.cpp", path), sources))
        schema = self.compiled("embedded_schemas.cpp", embedded)
        self.linked("exprun-trainer", [*objects, schema])
        self.linked("exprun", [schema])
        self.exprun("data", "prepare", "path=text.txt", "tokenizer=byte", "--out", "shards")
        self.write("mine.toml", MINE.replace("SCHEDULE", schedule))
        self.call([self.folder / "bin/exprun", "mine.toml"])
        self.assertEqual(self.state(), "finished")
        rates = [rate for (rate,) in self.rows("SELECT value FROM metrics WHERE name = 'lr' ORDER BY step")]
        self.assertAlmostEqual(rates[-1] / rates[0], 0.01 ** (10 / 11), places=12)

    def added(self, kind, like, name, source):
        shutil.copy(self.schemas / kind / f"{like}.schema.json", self.schemas / kind / f"{name}.schema.json")
        return self.write(f"{kind}_{name}.cpp", source)

    def call(self, command, cwd=None):
        result = subprocess.run(list(map(str, command)), cwd=cwd or self.folder, env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(result.returncode, 0, f"{shlex.join(map(str, command))}\n{result.stdout}")
        return result.stdout

    def compiled(self, like, path):
        """An object of `path`, with the flags of a source of the project."""
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        (line,) = {entry["command"] for entry in commands if entry["file"].endswith(like)}
        words = shlex.split(line)
        words[words.index("-o") + 1] = f"{path}.o"
        words[words.index("-c") + 1] = str(path)
        self.call(words, cwd=BUILD)
        return f"{path}.o"

    def linked(self, program, objects):
        """The program with more objects, in bin/; what they define takes the place of an archive's member."""
        line = self.call(["ninja", "-C", BUILD, "-t", "commands", "-s", program]).splitlines()[-1]
        (self.folder / "bin").mkdir(exist_ok=True)
        line = line.replace(f"-o {program} ", f"-o {self.folder}/bin/{program} {shlex.join(objects)} ", 1)
        self.call(["sh", "-c", line], cwd=BUILD)

    def test_adding_a_component_fits_in_thirty_lines(self):
        section = SOURCE[SOURCE.index("## Adding a component"):SOURCE.index("## GPUs")]
        self.assertLess(len(section.splitlines()), 31)


if __name__ == "__main__":
    unittest.main()
