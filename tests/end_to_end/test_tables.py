"""Every table and plot, to the letter: tests/golden/tables/NAME.txt (goldens.py) is of the store that the function NAME
here makes."""
import struct
import unittest

import goldens
from made_runs import STARTED, MadeRuns, run_rows
from support import ROOT

GOLDENS = ROOT / "tests/golden/tables"
STATES = ("finished", "running", "diverged", "failed", "interrupted", "preempted", "killed", "crashed", "pruned")
SHOWN_STARTED = "1700000000000"
WIDE = "größe-日本"


class Tables(MadeRuns):
    def settle(self, runs):
        """Makes what real runs have left the same everywhere: names, times, losses, rates."""
        for run in runs:
            folder = f"tiny-{run:08x}"
            (old,) = self.rows("SELECT folder FROM run WHERE id = ?", run)[0]
            (self.folder / "runs" / old).rename(self.folder / "runs" / folder)
            self.change_store(
                ("UPDATE run SET folder = ?, uid = ?, started_ms = ? WHERE id = ?", (folder, f"{run:08x}" + 24 * "0", STARTED, run)),
                ("UPDATE attempt SET started_ms = ?1, last_beat_ms = ?1 + 72000, ended_ms = ?1 + 72000, git_commit = NULL, "
                 "git_dirty = NULL WHERE run = ?2", (STARTED, run)),
                ("DELETE FROM attempt_blob WHERE run = ?", (run,)))
            for name in ("train/loss", "val/loss"):
                self.set_series(run, name, {step: 4 / (1 + step / (run + 1)) + run / 64 for step in range(1, 7)})
            self.set_series(run, "tokens_per_s", {step: 1000.0 + run for step in range(1, 7)})

    # --- stores ----------------------------------------------------------------------------------------

    def empty(self):
        self.make_store()

    def one_run(self):
        self.make_store(run_rows(1, "slow-00000001", parameters={"optimizer.lr": "1e-3"},
                                 series={"val/loss": {0: 3.0}, "train/loss": {300: 2.5}}))

    def every_state(self):
        runs = []
        for run, state in enumerate(STATES, 1):
            last = 2 + run % 3
            losses = {100: last + 0.5, 200: last - 0.25, 300: last}
            losses |= {4: {200: None, 300: None}, 5: dict.fromkeys(losses)}.get(run, {})
            series = {"train/loss": {300: 1e-5 * run}} | ({} if run == 6 else {"val/loss": losses})
            parameters = {"optimizer.lr": f"{run}e-5", "optimizer.type": '"adamw"' if run % 2 else '"muon"', "dataset.path": f'"{WIDE}.txt"'}
            runs.append(run_rows(run, WIDE if run == 3 else f"slow-{run:08x}", state, parameters, series))
        self.make_store(*runs)
        self.change_store("INSERT INTO tag (run, name) VALUES (1, 'first'), (1, '日本')")

    def groups(self):
        """Means of ordinary, large and small numbers; a group of one; NaN; and an accuracy by which the recipes compare."""
        values = {1: ("1e-3", 1.9, 1.2e8, 3e-5, 0.25), 2: ("1e-3", 1.95, 1.5e8, 2e-5, 0.5), 3: ("3e-5", 2.5, 1e7, 1e-5, 0.75),
                  4: ("3e-5", 2.75, 2e7, 4e-5, 0.5), 5: ("1e-2", 3.0, 3e7, 2e-5, 0.125), 6: ("3e-2", None, 1e6, 1e-4, 0.25)}
        self.make_store(*(
            run_rows(run, f"slow-{run:08x}", "killed" if run == 4 else "finished",
                     {"optimizer.lr": lr, "run.seed": str(run), "run.best_metric": '"quiz/points"', "run.best_goal": '"maximize"'},
                     {"val/loss": {300: loss}, "tokens": {300: tokens}, "rate": {300: rate},
                      "quiz/points": {100: points, 300: points / 2}})
            for run, (lr, loss, tokens, rate, points) in values.items()))

    def plots(self):
        steps = range(0, 101)
        wide = "-".join(3 * [WIDE])
        runs = {"nan": {step: None if 30 <= step <= 60 else 4 / (1 + step / 20) for step in steps}, "one-point": {10: 2.5},
                "constant": {step: 3.0 for step in steps}, "logarithmic": {step: 100 / (1 + step) ** 2 for step in range(1000)},
                f"{wide}-1": {0: 1.0, 100: 2.0}, f"{wide}-2": {0: 2.0, 100: 1.0}}
        several = (run_rows(run, f"several-of-a-long-name-{run:08x}", "finished", {"optimizer.lr": f"{run}e-3"},
                            {"loss": {step: 4 / (1 + step / (10 * (run - 6))) for step in steps}}) for run in (7, 8, 9))
        self.make_store(*(run_rows(run, name, series={"loss": values}) for run, (name, values) in enumerate(runs.items(), 1)), *several)

    def compared(self):
        for change in ("lr=1e-3", "lr=1e-2", "seed=3"):
            self.exprun("tiny.toml", change, "steps=6", "evaluation.val_loss.every='1 steps'")
        self.settle((1, 2, 3))
        self.set_series(2, "val/loss", {1: 2.5, 2: None})
        for run in (1, 2, 3):
            self.change_store(("UPDATE attempt SET git_commit = ?, git_dirty = 0 WHERE run = ?", (40 * str(run), run)))

    def sweeps(self):
        axes = ("sweep", "tiny.toml", "lr=1e-3,1e-2", "seed=1,2", "steps=6", "evaluation.val_loss.every='1 steps'")
        self.exprun(*axes)
        self.exprun("sweep", "tiny.toml", "hidden_size=16,32", "num_layers=1,2", "steps=6", "evaluation.val_loss.every='1 steps'")
        self.settle(range(1, 9))
        for run, state, message in ((6, "diverged", "the loss is NaN at step 6"), (7, "failed", "no space left"), (8, "killed", "signal 9")):
            self.change_store(("UPDATE attempt SET state = ?, message = ? WHERE run = ?", (state, message, run)))
        self.set_series(6, "val/loss", {1: 3.5, 2: None})
        self.change_store(("UPDATE sweep SET started_ms = ?", (STARTED,)), "UPDATE sweep SET uid = printf('%032x', id)",
                          ("UPDATE trial SET run = NULL, problem = ? WHERE sweep = 2 AND trial = 3", (f"'{WIDE}.txt' is missing",)))

    def queries(self):
        self.every_state()
        (self.folder / "shards").mkdir()
        for name, tokens in (("a.bin", [3, 3, 3, 7, 50000]), (f"{WIDE}.bin", [1, 2])):
            header = struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253)
            self.write(f"shards/{name}", header + struct.pack(f"<{len(tokens)}H", *tokens))

    def terminals(self):
        """At two widths, with colors and without."""
        self.every_state()

    # --- their tables ----------------------------------------------------------------------------------

    def answer(self, command):
        columns, colors, words = goldens.parsed(command)
        if columns:
            text = goldens.named_colors(self.at_terminal(columns, *words, colors=colors))
        else:
            result = self.exprun(*words)
            text = result.out + result.err
        for found, shown in ((str(STARTED), SHOWN_STARTED), (str(self.folder), "HERE")):
            text = text.replace(found, shown)
        return text

    def check(self, name):
        getattr(self, name)()
        goldens.check(self, GOLDENS / f"{name}.txt", self.answer)


for golden in sorted(GOLDENS.glob("*.txt")):
    setattr(Tables, f"test_{golden.stem}", lambda self, name=golden.stem: self.check(name))


if __name__ == "__main__":
    unittest.main()
