"""Every command has help of the same parts, and what it shows as an example can be typed."""
import re
import shlex
import shutil
import unittest

from support import ROOT, ExprunTest

# Their examples are typed, in this order. Of the others some need what no test has: the net, a corpus, GPT-2's
# vocabulary, a quarter of an hour.
COMMANDS = ("rm", "restore", "check", "show", "schema", "new", "completion", "resume", "rerun", "ls", "report", "query",
            "export", "tag", "note", "sweep", "doctor", "gc", "merge", "version", "help", "data info", "data verify",
            "data head")
NOT_TYPED = {"RECIPE", "eval", "sample", "data", "data prepare", "data fetch"}


class Help(ExprunTest):
    def commands(self):
        """As the help lists them."""
        listed = re.compile(r"^  ([a-z]+)  ", re.M)
        names = listed.findall(self.exprun("--help").out.partition("Commands:")[2].partition("Options")[0])
        below = listed.findall(self.exprun("data", "--help").out.partition("Options")[0])
        self.assertGreater(len(below), 4)
        return ["RECIPE", *names, *(f"data {name}" for name in below)]

    def test_every_command_has_every_part(self):
        commands = self.commands()
        self.assertEqual(set(commands), {*COMMANDS, *NOT_TYPED})
        for command in commands:
            with self.subTest(command=command):
                text = self.exprun("help", *command.split()).out
                usage = "RECIPE" if command == "RECIPE" else rf"{command}\b"
                self.assertRegex(text, rf"(?ms)\A\S.*^Usage: exprun {usage}.*^Options:\n.*^Exit codes:\n  0 .*^  2 .*^Examples:\n  ")
                if command != "RECIPE":
                    self.assertEqual(self.exprun(*command.split(), "--help").out, text)

    def test_a_death_by_a_signal_is_among_the_exit_codes_of_what_trains(self):
        for words in (("--help",), ("help", "RECIPE"), ("help", "resume")):
            self.assertRegex(self.exprun(*words).out, r"(?m)^  128 \+ N +a trainer was killed by signal N$")
        codes = self.exprun("help", "data", "fetch").out.partition("Exit codes:\n")[2].partition("\nExamples")[0]
        self.assertEqual(re.findall(r"(?m)^  (\S+( \+ N)?) ", codes), [(code, "") for code in ("0", "1", "2", "130", "143")])

    def test_what_several_machines_run_says_how_long_they_wait(self):
        for command in ("RECIPE", "resume"):
            self.assertIn("ten minutes", self.exprun("help", command).out)

    def test_help_of_what_is_no_command(self):
        for words, message in ((("data", "prepar"), "data: there is no command 'prepar', did you mean 'prepare'?"),
                               (("chek",), "help: there is no command 'chek', did you mean 'check'?"),
                               (("check", "show"), "help: 'check' has no commands of its own")):
            self.assertEqual(self.exprun("help", *words, code=2).err, f"exprun: error: {message}\n")

    def test_every_example_works(self):
        self.exprun("tiny.toml", "name=quickstart", "steps=2")
        shutil.copytree(self.folder / "runs", self.folder / "laptop/runs")
        (self.folder / "recipes").symlink_to(ROOT / "recipes")
        self.exprun("data", "prepare", "path=text.txt", "--out", "data/corpus")
        examples = [line for command in COMMANDS for line in self.examples(command)]
        self.assertGreater(len(examples), 40)
        for line in examples:
            with self.subTest(line=line):
                self.exprun(*self.words(line))

    def test_every_example_can_be_typed(self):
        """Words in which a shell would see more than text are in quotes."""
        for command in (*COMMANDS, *NOT_TYPED):
            for line in self.examples(command):
                with self.subTest(line=line):
                    without_quotes = re.sub(r"'[^']*'|\"[^\"]*\"", "", line.partition(" > ")[0])
                    self.assertNotRegex(without_quotes, r"[][(){}*?<>&;!#~$`\\]")

    def examples(self, command):
        return re.findall(r"^  exprun (.*)$", self.exprun("help", *command.split()).out.partition("Examples:")[2], re.M)

    @staticmethod
    def words(line):
        """Without the shell's redirection; a sweep only says what it would run."""
        words = shlex.split(line.partition(" > ")[0])
        return [*words, "--dry-run"] if words[0] == "sweep" else words


if __name__ == "__main__":
    unittest.main()
