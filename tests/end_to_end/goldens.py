"""Golden text: tests/golden/FOLDER/NAME.txt has commands and what they print.

`COLUMNS=80` before a command is a terminal of that width without colors; with `COLORS=yes` after that it has some, which
are written by their names. Else standard output is no terminal, and standard error stands after it. With
EXPRUN_UPDATE_GOLDENS=1 the answers are written anew: read the difference before you keep it.
"""
import os
import re
import shlex

NAMES = {"0": "/", "1": "bold", "31": "red", "1;31": "bold red", "32": "green", "1;32": "bold green", "1;33": "bold yellow", "34": "blue",
         "35": "magenta", "36": "cyan"}


def named_colors(text):
    return re.sub(r"\x1b\[([0-9;]*)m", lambda code: f"<{NAMES.get(code[1] or '0', code[1])}>", text)


def without_colors(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def parsed(command):
    """The terminal's columns, None for no terminal; whether it has colors; and the words after `exprun`."""
    words = shlex.split(command)
    before = dict(word.split("=") for word in words[:words.index("exprun")])
    return int(before["COLUMNS"]) if "COLUMNS" in before else None, "COLORS" in before, words[words.index("exprun") + 1:]


def check(test, file, answer):
    """`answer(command)` is what the command prints now."""
    head, *blocks = re.split(r"^\$ ", file.read_text(), flags=re.M)
    commands = [block.partition("\n")[0] for block in blocks]
    found = head + "\n".join(f"$ {command}\n{answer(command)}" for command in commands)
    if os.environ.get("EXPRUN_UPDATE_GOLDENS"):
        file.write_text(found)
    test.assertGreater(len(commands), 1)
    test.assertMultiLineEqual(found, file.read_text())
