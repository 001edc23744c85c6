"""`exprun compare`: runs side by side."""
import json
import re
import subprocess
import unittest

from support import ExprunTest

EVALUATED = ("evaluation.val_loss.every='10 steps'", "evaluation.val_loss.tokens=64")


def section(text, title):
    """The lines below the title of a table, each as its cells."""
    for part in text.split("\n\n"):
        lines = part.splitlines()
        if lines[0].startswith(title):
            return [re.split(r"  +", line) for line in lines]
    raise AssertionError(f"no table {title!r} in\n{text}")


class Compare(ExprunTest):
    def run_names(self):
        return [name for name, in self.rows("SELECT folder FROM runs ORDER BY run")]

    def test_two_learning_rates(self):
        self.exprun("tiny.toml", *EVALUATED)
        self.exprun("tiny.toml", "lr=1e-3", *EVALUATED)
        first, second = self.run_names()
        out = self.exprun("compare", first, second).out
        self.assertEqual(section(out, "setting"),
                         [["setting", first, second], ["optimizer.lr", "0.01 (tiny.toml:24)", "0.001 (override)"]])
        self.assertIn("\norigin, code, machine, libraries, data and environment: the same\n", out)
        results = {row[0]: row[1:] for row in section(out, "result")}
        self.assertEqual(results["state"], ["finished", "finished"])
        self.assertEqual(results["step"], ["40/40", "40/40"])
        for name in "median tokens/s", "best val/loss", "last val/loss", "val/loss at step 40", "best train/loss":
            self.assertEqual(len(results[name]), 2, name)
        # the first step's loss is that of the same weights and data
        partings = section(out, "series")
        self.assertEqual(partings[0][:3], ["series", f"against {first}", "common steps"])
        train = next(row for row in partings if row[0] == "train/loss")
        self.assertEqual(train[1:4], [second, "40", "2"])
        self.assertRegex(out, r"train/loss, val/loss by step|val/loss, train/loss by step")

    def runs_with_kernels(self, *kernels):
        """A run with each of these as its kernels.json, None for one without the file."""
        for i, chosen in enumerate(kernels):
            self.exprun("tiny.toml", "steps=2", *(["--new"] if i else []))
            file = self.run_folder() / "kernels.json"
            if chosen is None:
                file.unlink()
            else:
                file.write_text(json.dumps(chosen))
        return self.run_names()

    def compared_kernels(self, *runs):
        """The rows of differing circumstances, and what is said where there are none."""
        rows = json.loads(self.exprun("compare", *runs, "--json").out)["circumstances"]
        same = re.search(r"^origin, (.*): the same$", self.exprun("compare", *runs).out, re.M)
        return [list(row.values()) for row in rows], same and same[1]

    def test_kernels_that_were_chosen_differently(self):
        common = {"forward 8x16x16": "aten"}
        a, b, none, c = self.runs_with_kernels({"forward 4x16x16": "aten", "forward of a": "aten"} | common,
                                               {"forward 4x16x16": "onednn", "forward of b": "aten"} | common, {}, common)
        differs = "kernel.forward 4x16x16"
        self.assertEqual(self.compared_kernels(a, b), ([[differs, "aten", "onednn"]], None))
        self.assertEqual(self.compared_kernels(a, b, none), ([[differs, "aten", "onednn", None]], None))  # as a deterministic one
        self.assertEqual(self.compared_kernels(none, c, b, a), ([[differs, None, None, "onednn", "aten"]], None))
        self.assertEqual(self.compared_kernels(a, c), ([], "code, machine, libraries, data, environment and kernels"))

    def test_kernels_that_are_not_known_are_not_the_same(self):
        chosen = {"forward 4x16x16": "aten"}
        a, b, none, unwritten, of_others = self.runs_with_kernels(chosen, chosen, {}, None, {"forward 8x16x16": "aten"})
        known, unknown = (f"code, machine, libraries, data{words}" for words in (", environment and kernels", " and environment"))
        self.assertEqual(self.compared_kernels(a, b), ([], known))
        for other in none, unwritten, of_others:
            self.assertEqual(self.compared_kernels(a, b, other), ([], unknown), other)
        said = self.exprun("rerun", b).err  # a deterministic run, which chooses none
        self.assertIn(f"{unknown} are those of {b}\n", said)
        (self.folder / "runs" / a).rename(self.folder / "elsewhere")
        self.assertEqual(self.compared_kernels(a, b), ([], unknown))

    def test_json_holds_the_same_as_the_store(self):
        self.exprun("tiny.toml", *EVALUATED)
        self.exprun("tiny.toml", "lr=1e-3", *EVALUATED)
        first, second = self.run_names()
        compared = json.loads(self.exprun("compare", first, second, "--json").out)
        self.assertEqual(compared["settings"], [{"name": "optimizer.lr", first: 0.01, second: 0.001}])
        self.assertEqual(compared["origins"], [{"name": "optimizer.lr", first: "tiny.toml:24", second: "override"}])
        self.assertEqual(compared["circumstances"], [])
        results = {row.pop("name"): row for row in compared["results"]}
        curves = {run: dict(self.rows("SELECT step, value FROM metrics WHERE name = 'train/loss' AND run = ?", number))
                  for number, run in ((1, first), (2, second))}
        for run in first, second:
            self.assertEqual(results["best train/loss"][run], min(curves[run].values()))
            self.assertEqual(results["last train/loss"][run], curves[run][40])
        parting = next(row for row in compared["partings"] if row["series"] == "train/loss")
        steps = sorted(curves[first])
        self.assertEqual(parting["common_steps"], len(steps))
        self.assertEqual(parting["first_difference"], next(n for n in steps if curves[first][n] != curves[second][n]))
        self.assertEqual(parting["value"], curves[second][parting["first_difference"]])
        self.assertEqual(parting["value_of_first"], curves[first][parting["first_difference"]])
        self.assertEqual(parting["first_above_1_percent"],
                         next(n for n in steps if abs(curves[first][n] - curves[second][n]) > 0.01 * max(curves[first][n], curves[second][n])))

    def test_the_same_again(self):
        self.exprun("tiny.toml")
        self.exprun("rerun", "tiny")
        first, second = self.run_names()
        out = self.exprun("compare", "tiny").out
        self.assertIn("settings: the same\n", out)
        self.assertEqual(section(out, "series")[2], ["train/loss", first, "40", "none", "none"])

    def test_code_and_environment(self):
        def git(*words):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=self.folder, check=True, capture_output=True)
        git("init")
        git("add", "tiny.toml")
        git("commit", "-m", "first")
        self.exprun("tiny.toml")
        self.write("tiny.toml", (self.folder / "tiny.toml").read_text() + "\n# longer\n")
        git("commit", "-am", "second")
        self.write("tiny.toml", (self.folder / "tiny.toml").read_text() + "\n# not committed\n")
        with_variable = self.start("tiny.toml", "seed=2", variables={"OMP_PROC_BIND": "x" * 100})
        self.assertEqual(self.finish(with_variable).code, 0)
        result = self.exprun("compare", "1", "2")
        different = {row[0]: row[1:] for row in section(result.out, "code and machine")}
        self.assertEqual(different["environment.OMP_PROC_BIND"], ["none", "x" * 47 + "…"])
        self.assertRegex(different["uncommitted_changes"][1], r"^\d+ lines \([0-9a-f]{8}\)$")
        commits = [commit[:12] for commit, in self.rows("SELECT git_commit FROM runs ORDER BY run")]
        self.assertIn(f"git diff {commits[0]} {commits[1]} prints how the commits differ\n", result.err)
        self.assertIn("exprun show RUN --git-diff prints the uncommitted changes of a run\n", result.err)

    def test_three_runs_in_markdown_with_a_metric(self):
        for seed in 1, 2, 3:
            self.exprun("tiny.toml", f"seed={seed}", "max_grad_norm=1.0")
        newest_first = self.run_names()[::-1]
        out = self.exprun("compare", "tiny", "--metric", "grad_norm", "--markdown").out
        self.assertTrue(out.startswith(f"| setting | {' | '.join(newest_first)} |\n"), out)
        self.assertIn("\n| run.seed | 3 (override) | 2 (override) | 1 (override) |\n", out)
        self.assertIn("\n| last grad_norm | ", out)
        self.assertNotIn("best grad_norm", out)
        self.assertEqual(out.count("**") % 2, 0)
        self.assertNotIn("train/loss", out)

    def test_a_series_that_one_run_has(self):
        self.exprun("tiny.toml")
        self.exprun("tiny.toml", "seed=2")
        self.exprun("eval", "1")
        ((name,),) = self.rows("SELECT DISTINCT name FROM metrics WHERE name LIKE 'eval/%loss'")
        out = self.exprun("compare", "1", "2", "--metric", name).out
        best = next(line for line in out.splitlines() if line.startswith(f"best {name}"))
        self.assertEqual(len(re.split(r"  +", best)), 2, best)
        self.assertNotIn(f"{name} at step", out)
        self.assertNotIn("against", out)

    def test_mistakes(self):
        self.exprun("tiny.toml")
        for words, code, said in (
                (["@last"], 2, "compare: give at least two runs; there is only tiny-"),
                (["1", "nobody"], 4, "nobody"),
                (["1", "1", "--json", "--markdown"], 2, "compare: give only one of --json and --markdown")):
            result = self.exprun("compare", *words, code=code)
            self.assertEqual(result.out, "")
            self.assertIn(said, result.err)
        self.exprun("tiny.toml", "seed=2")
        result = self.exprun("compare", "1", "2", "--metric", "val/los", code=2)
        self.assertIn("compare: none of the runs has a series 'val/los'", result.err)
        for seed in range(3, 10):
            self.exprun("tiny.toml", f"seed={seed}", "steps=2")
        self.assertIn("compare: 9 runs do not fit side by side, only 8; `exprun report` has a row for each run",
                      self.exprun("compare", "tiny", code=2).err)


if __name__ == "__main__":
    unittest.main()
