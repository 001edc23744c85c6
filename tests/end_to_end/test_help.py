"""What the help of a command shows as an example can be typed."""
import re
import shlex
import unittest

from support import ROOT, ExprunTest

COMMANDS = ("check", "show", "schema", "new", "completion", "resume", "rerun", "ls", "report", "query", "export", "tag",
            "note", "sweep", "doctor")


class Help(ExprunTest):
    def test_every_example_works(self):
        self.exprun("tiny.toml", "name=quickstart", "steps=2")
        (self.folder / "recipes").symlink_to(ROOT / "recipes")
        examples = [line for command in COMMANDS for line in self.examples(command)]
        self.assertGreater(len(examples), 6)
        for line in examples:
            with self.subTest(line=line):
                self.exprun(*self.words(line))

    def examples(self, command):
        return re.findall(r"^  exprun (.*)$", self.exprun(command, "--help").out.partition("Examples:")[2], re.M)

    @staticmethod
    def words(line):
        """Without the shell's redirection; a sweep only says what it would run."""
        words = shlex.split(line.partition(" > ")[0])
        return [*words, "--dry-run"] if words[0] == "sweep" else words


if __name__ == "__main__":
    unittest.main()
