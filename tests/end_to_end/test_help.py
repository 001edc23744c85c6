"""Every command has help of the same parts, and what it shows as an example can be typed."""
import re
import shlex
import shutil
import unittest

from support import ROOT, ExprunTest
from test_instruction import RECIPE as INSTRUCTION

# Their examples are typed, in this order.
COMMANDS = ("rm", "restore", "check", "show", "schema", "new", "completion", "resume", "rerun", "ls", "report", "compare", "plot", "watch", "query",
            "export", "tag", "note", "sweep", "sweep ls", "sweep show", "sweep stop", "doctor", "gc", "merge", "version", "data", "data prepare", "data info",
            "data verify", "data head", "data fetch", "help", "RECIPE", "sample", "eval", "logs", "stop", "fork")
NOT_TYPED = {
    "data fetch fineweb10b --shards 10": "the net",
    "data prepare path=corpus.jsonl.zst tokenizer=gpt2 --out data/corpus": "a corpus, and GPT-2's vocabulary",
    "eval @last evaluation.hellaswag.path=data/hellaswag/hellaswag_val.jsonl": "its data, and GPT-2's vocabulary",
    "recipes/quickstart.toml --detach": "a run that goes on behind the test",
    "logs @last -f": "the same",
    "watch": "a terminal, and somebody who quits",
    "stop 'mine-*' --no-wait": "a run that is running",
    "rm 'mine-*'": "runs of such a name",
    "sweep stop @last": "a sweep that is running",
    "mine.toml --nnodes=2 --node-rank=1 --rdzv-endpoint=box:29500": "another machine",
}
# Of what trains, in place of a minute each.
SMALL = ("steps=21", "num_layers=1", "hidden_size=16", "context_length=16", "sequences=2", "evaluation.val_loss.tokens=32",
         "evaluation.sample.tokens=4", "threads=1", "deterministic=true")
EVALUATED = """
[evaluation.val_loss]
every = "2 steps"

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
        with open(self.folder / "tiny.toml", "a", encoding="utf-8") as recipe:
            recipe.write(EVALUATED)
        self.write("examples.jsonl", '{"prompt": "1+1=", "response": "2"}\n' * 20)
        self.write("assistant.toml", INSTRUCTION)
        self.exprun("tiny.toml", "name=quickstart", "steps=2", "tokenizer=byte", "activation=gelu_tanh")
        shutil.copytree(self.folder / "runs", self.folder / "laptop/runs")
        (self.folder / "recipes").symlink_to(ROOT / "recipes")
        for name in ("notes.txt", "a.txt", "notes/b.md", "questions.txt"):
            self.write(name, "little ships\n\n" * 100)
        self.exprun("export", "quickstart", "--huggingface", "models/gpt2")
        self.exprun("data", "prepare", "path=text.txt", "--out", "data/corpus")
        examples = [line for command in COMMANDS for line in self.examples("help", *command.split())]
        examples += self.examples("--help")
        self.assertGreater(len(examples), 50)
        self.assertLess(set(NOT_TYPED), set(examples))
        for line in examples:
            if line == "plot --sweep @last":  # there is one to look at
                self.exprun("sweep", "tiny.toml", "seed=5,6", "steps=2", "tokenizer=byte", "activation=gelu_tanh")
            if line.startswith("sample assistant"):  # which stays no longer than that
                self.exprun("assistant.toml", "name=assistant", "steps=2", "tokenizer=byte")
            if line not in NOT_TYPED:
                with self.subTest(line=line):
                    self.exprun(*self.words(line))
            if line.startswith("sample assistant"):
                self.exprun("rm", "assistant")
                self.exprun("gc")

    def test_every_example_can_be_typed(self):
        """Words in which a shell would see more than text are in quotes."""
        for command in COMMANDS:
            for line in self.examples("help", *command.split()):
                with self.subTest(line=line):
                    without_quotes = re.sub(r"'[^']*'|\"[^\"]*\"", "", line.partition(" > ")[0])
                    self.assertNotRegex(without_quotes, r"[][(){}*?<>&;!#~$`\\]")

    def examples(self, *words):
        """What is typed after `exprun`; what is said of it may stand in the same line."""
        lines = re.findall(r"^  exprun (.*)$", self.exprun(*words).out.partition("Examples:")[2], re.M)
        return [re.split(r"   +", line)[0] for line in lines]

    @staticmethod
    def words(line):
        """Without the shell's redirection; a sweep only says what it would run, and what trains is small."""
        words = shlex.split(line.partition(" > ")[0])
        if words[0].endswith(".toml"):
            return [*words, *SMALL]
        return [*words, "--dry-run"] if words[0] == "sweep" and words[1] not in ("ls", "show", "stop") else words


if __name__ == "__main__":
    unittest.main()
