"""Every command has help of the same parts, and what it shows as an example can be typed."""
import gzip
import os
import re
import shutil
import subprocess
import unittest

from fetching import Server, small_shard
from support import BUILD, ROOT, TIMEOUT, ExprunTest, fixture, free_ports
from terminals import Terminal
from test_data import zstd_frame
from test_data_fetch_catalogue import FILES
from test_instruction import RECIPE as INSTRUCTION

# Their examples are typed, in this order.
COMMANDS = ("rm", "restore", "check", "show", "schema", "new", "completion", "rerun", "resume", "export", "sweep", "sweep ls",
            "sweep show", "ls", "report", "compare", "plot", "watch", "query", "tag", "note", "sweep stop", "doctor", "gc", "merge", "version",
            "data", "data fetch", "data prepare", "data info", "data verify", "data head", "help", "RECIPE", "sample", "eval", "logs", "fork", "stop")
# Of what trains, in place of a minute each.
SMALL = ("steps=21", "num_layers=1", "hidden_size=16", "context_length=16", "sequences=2", "evaluation.val_loss.tokens=32",
         "evaluation.sample.tokens=4", "threads=1", "deterministic=true", "dataset.path=text.txt")
TINY = ("tiny.toml", "tokenizer=byte", "activation=gelu_tanh")
ENDLESS = "steps=100000000"
EVALUATED = """
[evaluation.val_loss]
every = "50 steps"

[evaluation.sample]
prompt = "sea"
tokens = 4
"""

class Help(ExprunTest):
    def commands(self):
        """As the help lists them."""
        listed = re.compile(r"^  ([a-z]+)  ", re.M)
        names = listed.findall(self.exprun("--help").out.partition("Commands:")[2].partition("Options")[0])
        below = [f"{group} {name}" for group in ("data", "sweep")
                 for name in listed.findall(self.exprun(group, "--help").out.partition("Options")[0])]
        self.assertGreater(len(below), 7)
        return ["RECIPE", *names, *below]

    def test_every_command_has_every_part(self):
        commands = self.commands()
        self.assertEqual(set(commands), set(COMMANDS))
        for command in commands:
            with self.subTest(command=command):
                text = self.exprun("help", *command.split()).out
                usage = "RECIPE" if command == "RECIPE" else rf"{command}\b"
                self.assertRegex(text, rf"(?ms)\A\S.*^Usage: exprun {usage}.*^Options:\n.*^Exit codes:\n  0 .*^  2 .*^Examples:\n  ")
                self.assertLessEqual(max(map(len, text.splitlines())), 80)
                if command != "RECIPE":
                    self.assertEqual(self.exprun(*command.split(), "--help").out, text)

    def test_the_help_of_all_fits_a_terminal(self):
        self.assertLessEqual(max(map(len, self.exprun("--help").out.splitlines())), 80)

    def test_a_death_by_a_signal_is_among_the_exit_codes_of_what_trains(self):
        for words in (("--help",), ("help", "RECIPE"), ("help", "resume")):
            self.assertRegex(self.exprun(*words).out, r"(?m)^  128 \+ N +a trainer was killed by signal N$")
        codes = self.exprun("help", "data", "fetch").out.partition("Exit codes:\n")[2].partition("\nExamples")[0]
        self.assertEqual(re.findall(r"(?m)^  (\S+( \+ N)?) ", codes), [(code, "") for code in ("0", "1", "2", "130", "143")])

    def test_what_several_machines_run_says_how_long_they_wait(self):
        for command in ("RECIPE", "resume"):
            self.assertIn("ten minutes", self.exprun("help", command).out)

    def test_runs_and_sweeps_are_named_the_same_way_by_every_command(self):
        run = "its id, uid, folder or name"
        runs = "ids, uids, folders, names"
        named = {"resume": run, "fork": run, "rerun": run, "logs": run, "eval": run, "sample": run, "show": run, "tag": run, "note": run,
                 "watch": run, "stop": runs, "ls": runs, "report": runs, "compare": runs, "plot": runs, "export": runs,
                 "rm": "ids, uids, folders, unique names"}
        for command, how in named.items():
            self.assertRegex(self.one_line(command), rf"\b{how}( \([^)]*\))?(, tried in this order)?,?( or)? @last(,| or) @best\b", command)
        self.assertIn("ids, uids, folders or unique names of removed runs", self.one_line("restore"))
        for command in ("sweep show", "sweep stop", "watch", "report", "compare", "plot", "rm", "restore"):
            self.assertIn("its number, uid or name, or @last", self.one_line(command), command)

    def one_line(self, command):
        return " ".join(self.exprun("help", *command.split()).out.split())

    def test_what_starts_a_new_run_each_time_says_how_that_is_continued(self):
        for command in ("fork", "rerun"):
            self.assertIn("If the new run is interrupted, exprun resume continues it.", self.one_line(command))

    def test_the_version_by_all_its_names(self):
        said = self.exprun("version").out
        self.assertRegex(said, r"\Aexprun \d+\.\d+\.\d+")
        for word in "--version", "-V":
            self.assertEqual(self.exprun(word).out, said)

    def test_help_of_what_is_no_command(self):
        for words, message in ((("data", "prepar"), "data: there is no command 'prepar'; did you mean 'prepare'?"),
                               (("chek",), "help: there is no command 'chek'; did you mean 'check'?"),
                               (("check", "show"), "help: 'check' has no commands of its own")):
            self.assertEqual(self.exprun("help", *words, code=2).err, f"exprun: error: {message}\n")

    def test_every_example_works(self):
        self.make_what_examples_name()
        examples = [line for command in COMMANDS for line in self.examples("help", *command.split())]
        examples += self.examples("--help")
        self.assertGreater(len(examples), 90)
        around = {"rm 'mine-*'": self.rm_mine, "watch": self.watch, "sweep stop @last": self.sweep_stop, "logs @last -f": self.logs_to_the_end,
                  "recipes/quickstart.toml --detach": self.detached, "stop --all": self.stop, "stop 'mine-*' --no-wait": self.stop,
                  "sample assistant --instruction --prompt \"Name three colors.\"": self.sample_assistant,
                  "mine.toml --nnodes=2 --node-rank=1 --rdzv-endpoint=box:29500": self.second_of_two_machines,
                  "data prepare path=corpus.jsonl.zst tokenizer=gpt2 --out data/corpus": self.prepare_for_gpt2,
                  "zcat a.gz | exprun data prepare path=- validation_tokens=1000000 --out data/a": self.from_standard_input,
                  "data fetch fineweb10b --shards 10": lambda line: self.type(line + " --no-checksum")}  # of what stands in for its shards
        self.assertLessEqual(set(around), set(examples))
        for line in examples:
            with self.subTest(line=line):
                around.get(line, self.type)(line)

    def make_what_examples_name(self):
        with open(self.folder / "tiny.toml", "a", encoding="utf-8") as recipe:
            recipe.write(EVALUATED)
        self.write("examples.jsonl", '{"prompt": "1+1=", "response": "2"}\n' * 20)
        self.write("assistant.toml", INSTRUCTION)
        self.exprun(*TINY, "name=quickstart", "steps=2")
        shutil.copytree(self.folder / "runs", self.folder / "laptop/runs")
        (self.folder / "recipes").symlink_to(ROOT / "recipes")
        for name in ("notes.txt", "a.txt", "notes/b.md", "questions.txt"):
            self.write(name, "little ships\n\n" * 100)
        self.write("a.gz", gzip.compress(b"little ships\n\n" * 200_000))
        self.write("corpus.jsonl.zst", zstd_frame(b'{"text": "little ships"}\n' * 100))
        self.write("data/hellaswag/hellaswag_val.jsonl", '{"ctx": "sea", "endings": ["a", "b", "c", "d"], "label": 0}\n' * 4)
        self.exprun("export", "quickstart", "--huggingface", "models/gpt2")
        server = Server()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        server.files = {"/" + address.split("/", 3)[3]: small_shard() for address, *_ in FILES["fineweb10b"][:11]}
        environment = {name: value for name, value in os.environ.items() if not name.startswith("EXPRUN_") and not name.lower().endswith("_proxy")}
        self.environment = environment | {"PATH": f"{BUILD}:{environment['PATH']}", "XDG_CACHE_HOME": str(self.folder / "cache"),
                                          "EXPRUN_MIRROR": server.address}
        self.addCleanup(lambda: self.type("stop --all"))  # if one of them fails

    def type(self, line):
        """In a shell, as a user does; what trains is small."""
        command, arrow, file = (line if " exprun " in line else f"exprun {line}").partition(" > ")
        command = re.sub(r"\brun\.steps=(\d+)0\b", r"run.steps=\1", command)
        if re.search(r"^exprun (\S+\.toml|sweep (\S+\.toml|'))", command):
            given = re.findall(r"(\w+)=", command)
            command = " ".join([command, *(word for word in SMALL if word.partition("=")[0] not in given)])
        result = subprocess.run(["sh", "-c", command + arrow + file], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    # --- examples that need something that runs beside them, or somebody who answers ---------------------

    def rm_mine(self, line):
        self.exprun(*TINY, "name=mine", "steps=2", "lr=1e-4")  # which the last example of restore brings back
        self.type(line)

    def watch(self, line):
        terminal = Terminal(self, line)
        terminal.wait_for("q: quit")
        os.write(terminal.terminal, b"q")
        self.assertEqual(terminal.ended(), 0)

    def sweep_stop(self, line):
        sweep = self.start("sweep", "tiny.toml", "seed=8,9", ENDLESS)
        self.wait_until(lambda: self.rows("SELECT 1 FROM runs WHERE sweep IS NOT NULL AND state = 'running' AND last_step > 0"), sweep)
        self.type(line)
        self.assertEqual(self.finish(sweep).code, 143)

    def detached(self, line):
        self.type(f"{line} {ENDLESS}")
        self.assertEqual(self.state(), "running")
        self.exprun("stop", "@last")

    def logs_to_the_end(self, line):
        self.exprun("tiny.toml", "steps=300", "--detach")
        self.assertIn("finished at step 300/300", self.type(line))

    def stop(self, line):
        self.exprun("tiny.toml", "name=mine", ENDLESS, "--detach")
        self.type(line)
        self.exprun("logs", "@last", "-f")  # to its end
        self.exprun("rm", "mine-*")

    def sample_assistant(self, line):
        self.exprun("assistant.toml", "name=assistant", "steps=2", "tokenizer=byte")
        self.type(line)
        self.exprun("rm", "assistant")
        self.exprun("gc")  # it stays no longer than that

    def second_of_two_machines(self, line):
        (port,) = free_ports(1)
        line = line.replace("box:29500", f"127.0.0.1:{port}")
        first = self.start(*line.replace("rank=1", "rank=0").split(), *SMALL)
        self.type(line)
        self.assertEqual(self.finish(first).code, 0)

    def prepare_for_gpt2(self, line):
        self.exprun("data", "prepare", "path=text.txt", "--out", "data/corpus")  # for later examples, where GPT-2's vocabulary is missing
        for name in ("vocab.bpe", "encoder.json"):
            self.write(f"data/gpt2_tokenizer/{name}", fixture(self, f"data/{name}").read_bytes())
        shutil.rmtree(self.folder / "data/corpus")
        self.type(line)

    def from_standard_input(self, line):
        shutil.rmtree(self.folder / "data/a")  # of the example before it
        self.type(line)

    def test_every_example_can_be_typed(self):
        """Words in which a shell would see more than text are in quotes."""
        for command in COMMANDS:
            for line in self.examples("help", *command.split()):
                with self.subTest(line=line):
                    without_quotes = re.sub(r"'[^']*'|\"[^\"]*\"", "", line.partition(" > ")[0])
                    self.assertNotRegex(without_quotes, r"[][(){}*?<>&;!#~$`\\]")

    def examples(self, *words):
        """What is typed, without `exprun` where it begins with that; what is said of it may stand in the same line."""
        lines = re.findall(r"^  (?! )(?:exprun )?(.*)$", self.exprun(*words).out.partition("Examples:\n")[2].partition("\n\n")[0], re.M)
        return [re.split(r"   +", line)[0] for line in lines]


if __name__ == "__main__":
    unittest.main()
