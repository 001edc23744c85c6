"""The points of a sweep: the grammar as recipes/sweeps.md tells it, random search, and what a recipe says."""
import json
import re
import shlex
import unittest

from support import ROOT, ExprunTest

PAGE = (ROOT / "recipes" / "sweeps.md").read_text()
QUICKSTART = str(ROOT / "recipes" / "quickstart.toml")
DRAWN = re.compile(r"\b(LR|DROPOUT|LAYERS)(\d)\b")  # stands for a number that is drawn
BOUNDS = {"LR": (1e-4, 1e-2), "DROPOUT": (0.1, 0.3), "LAYERS": (2, 8)}


def table():
    for line in PAGE.splitlines():
        cells = re.fullmatch(r"\| `(.+?)` \| (`.+`) \|", line)
        if cells:
            yield cells[1], re.findall(r"`(.+?)`", cells[2])


class Space(ExprunTest):
    def points(self, *words):
        rows = json.loads(self.exprun("sweep", *words, "--dry-run", "--json").out)
        return [row["changes"] for row in rows]

    def check_drawn(self, expected, found):
        """Where the page has a letter and a number, any number of the interval: the same where these are the same."""
        values = {}
        pattern = DRAWN.sub(r"(?P<\g<0>_AT>[-+.e\\d]+)", " ; ".join(expected).replace("+", r"\+"))
        for name in set(DRAWN.findall(" ".join(expected))):
            word = "".join(name)
            pattern = pattern.replace(f"(?P<{word}_AT>", f"(?P<{word}>", 1).replace(f"(?P<{word}_AT>[-+.e\\d]+)", f"(?P={word})")
        match = re.fullmatch(pattern, " ; ".join(found))
        self.assertTrue(match, f"{expected}\n{found}")
        for word, text in match.groupdict().items():
            low, high = BOUNDS[word.rstrip("0123456789")]
            self.assertTrue(low <= float(text) <= high, text)
            if word.startswith("LAYERS"):
                self.assertNotIn(".", text)
            values[word] = text
        self.assertEqual(len(set(values.values())), len(values))

    def test_every_line_of_the_table(self):
        blocks = dict(re.findall(r"```(csv|toml)\n((?:optimizer|\[\[points).*?)```", PAGE, re.S))
        for kind, text in blocks.items():
            (self.folder / f"points.{kind}").write_text(text)
        lines = list(table())
        written = re.search(r"\| You write \|.*?\n\|---\|---\|\n((?:\|.*\n)+)", PAGE)[1]
        self.assertEqual(len(lines), len(written.splitlines()))
        self.assertEqual(len(lines), 20)
        for line, expected in lines:
            with self.subTest(line=line):
                found = self.points(QUICKSTART, *shlex.split(line))
                self.check_drawn(expected, found) if DRAWN.search(" ".join(expected)) else self.assertEqual(found, expected)

    def test_a_recipe_says_the_same(self):
        example = re.search(r"## In a recipe.*?```toml\n(.*?)```", PAGE, re.S)[1]
        stop = re.search(r"## Early stopping.*?```toml\n(.*?)```", PAGE, re.S)[1]
        (self.folder / "sweep.toml").write_text(f'extends = "{QUICKSTART}"\n{example}\n{stop}')
        said = self.points("sweep.toml")
        self.assertEqual(len(said), 24)
        self.assertEqual(said, [change.replace("lr=", "optimizer.lr=").replace("num_layers", "model.num_layers") for change in
                                self.points(QUICKSTART, "lr=log:1e-4..1e-2", "num_layers=2,4", "--trials", "24", "--seeds", "3")])
        more = self.points("sweep.toml", "--trials", "27")
        self.assertEqual(more[:24], said)
        self.assertEqual(len(more), 27)
        self.assertNotEqual(self.points("sweep.toml", "--random-seed", "1")[0], said[0])
        self.assertEqual({change.split()[0] for change in self.points("sweep.toml", "lr=0.1")}, {"model.num_layers=2", "model.num_layers=4"})

    def test_zip_in_a_recipe(self):
        (self.folder / "zip.toml").write_text(
            f'extends = "{QUICKSTART}"\n[sweep]\nzip = [["num_layers", "lr"]]\n'
            '[sweep.axes]\nlr = "logspace(1e-3,1e-2,2)"\nseed = [1, 2]\nnum_layers = [2, 4]\n')
        self.assertEqual(self.points("zip.toml"), ["seed=1 num_layers=2 lr=0.001", "seed=1 num_layers=4 lr=0.01",
                                                   "seed=2 num_layers=2 lr=0.001", "seed=2 num_layers=4 lr=0.01"])

    def test_a_random_search_of_few_values_finds_all_of_them(self):
        found = self.points(QUICKSTART, "num_layers=2,4", "seed=1,1,2", "--trials", "50")
        self.assertEqual(sorted(found), ["num_layers=2 seed=1", "num_layers=2 seed=2", "num_layers=4 seed=1", "num_layers=4 seed=2"])

    def test_a_search_with_more_trials_runs_only_the_new_ones(self):
        line = ("sweep", "tiny.toml", "lr=log:1e-4..1e-2", "steps=2")
        self.exprun(*line, "--trials", "2")
        first = self.rows("SELECT folder FROM runs ORDER BY run")
        self.exprun(*line, "--trials", "3")
        self.assertEqual(self.rows("SELECT folder FROM runs ORDER BY run")[:2], first)
        self.assertEqual(self.rows("SELECT state, count(*) FROM runs GROUP BY state"), [("finished", 3)])


if __name__ == "__main__":
    unittest.main()
