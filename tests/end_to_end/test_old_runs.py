"""Runs that were begun with values which are refused since: they go on, are run again and looked at."""
import contextlib
import json
import sqlite3
import unittest

from support import ExprunTest

LONG = "x" * 130

# What is refused to a new run, and what the warning says of it.
REFUSED_SINCE = {
    f"run.name={LONG}": "'name' must have at most 128 characters, got 130",
    'run.best_metric="val/lss"': "no evaluation measures 'val/lss'",
    '+evaluation."bei Nacht"={type = "val_loss"}': "'bei Nacht' must be made of letters, digits, '_', '-' and '.', of which "
                                                       "the last two not first",
    '+evaluation.again={type = "val_loss"}': "[evaluation.again] measures val/loss, as [evaluation.\"bei Nacht\"] does",
    "dataset.separator=\\n": "'\\n' is two characters in a value without quotes",
    "checkpoint.keep_last=1": "'keep_last' must be >= 2",
}
# The rule of another run: nothing measures what it stops by.
STOPS_BY_NOTHING = ("metrics.val_loss=false", "run.early_stop={patience = 2}")


class OldRuns(ExprunTest):
    def make_old(self, *overrides):
        """The run's recipe is as if an earlier exprun had taken the overrides."""
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as store, store:
            key, text = store.execute("SELECT blob.id, CAST(content AS TEXT) FROM blob JOIN run_blob ON blob = blob.id "
                                      "WHERE kind = 'recipe'").fetchone()
            recipe = json.loads(text)
            recipe["overrides"] += overrides
            store.execute("UPDATE blob SET content = CAST(? AS BLOB) WHERE id = ?", (json.dumps(recipe), key))

    def assert_warned(self, result):
        for said in REFUSED_SINCE.values():
            self.assertIn(f"warning: {said}; a new run is refused for it\n", result.err)

    def test_it_is_run_again_goes_on_and_is_looked_at(self):
        self.exprun("tiny.toml", "steps=1")
        self.exprun("check", "tiny.toml", *REFUSED_SINCE, code=2)
        self.make_old("steps=200", *REFUSED_SINCE)
        self.assert_warned(self.exprun("rerun", "1", "max_minutes=1e-6", code=75))  # saved, before its end
        self.assertEqual(self.state(), "preempted")
        self.assert_warned(self.exprun("resume", LONG, "~max_minutes", "checkpoint.every=50 steps"))
        self.assertEqual(self.rows("SELECT state, last_step, attempt FROM runs WHERE run = 2"), [("finished", 200, 2)])
        self.assertIn(f'name = "{LONG}"\n', self.exprun("show", "2").out)
        self.assertRegex(self.exprun("show", "2", "--origin").out, r"run\.best_metric +\"val/lss\" +override\n")
        self.assertIn("run.best_metric", self.exprun("show", "2", "--diff", "tiny.toml").out)
        self.assertIn("200 updates", self.exprun("show", "2", "--schedule").out)
        self.assert_warned(evaluated := self.exprun("eval", "2", "--json"))
        self.assertEqual(json.loads(evaluated.out)["step"], 200)
        self.assert_warned(self.exprun("sample", "2", "tokens=3"))
        self.assertIn("seed=2", self.exprun("sweep", "seed=1,2", "--dry-run").out)

    def test_keys_are_stored_whole(self):
        self.exprun("tiny.toml", "steps=1", "lr=0.5", "~seed", "keep_last=2")
        self.assertEqual(json.loads((self.run_folder() / "recipe.json").read_text())["overrides"],
                         ["run.steps=1", "optimizer.lr=0.5", "~run.seed", "checkpoint.keep_last=2"])

    def test_a_short_key_that_is_stored_means_the_key_that_it_was(self):
        self.exprun("tiny.toml", "steps=1")
        self.make_old("decay=all", "~seed")
        self.exprun("check", "tiny.toml", "decay=all", "schedule.type=wsd", code=2)  # it names two keys now
        self.exprun("rerun", "1", "schedule.type=wsd")
        self.assertEqual(self.rows("SELECT toml FROM parameter JOIN parameter_key ON id = key WHERE run = 2 AND "
                                   "path = 'optimizer.decay'"), [('"all"',)])

    def test_what_changes_it_is_judged_as_in_a_new_run(self):
        self.exprun("tiny.toml", "steps=1")
        self.make_old(*REFUSED_SINCE)
        for command, change, said in (
                ("rerun", 'run.best_metric="val/los"', "error: no evaluation measures 'val/los'\n"),
                ("resume", "checkpoint.keep_last=0", "error: 'keep_last' must be >= 2\n"),
                ("eval", "evaluation.val_loss.tokens=-5", "error: 'tokens' must be >= 1\n"),
                ("rerun", "parallelism.world_size=3", "error: the global batch of 4 sequences cannot be shared by 3 ranks\n"),
                ("rerun", "dataset.path=nothing.txt", "error: 'nothing.txt' does not exist\n")):
            self.assertIn(said, self.exprun(command, "1", change, code=2).err)
        self.assertEqual(self.rows("SELECT count(*) FROM runs"), [(1,)])

    def test_one_that_stops_by_what_nothing_measures(self):
        self.exprun("tiny.toml", "steps=1")
        self.exprun("check", "tiny.toml", *STOPS_BY_NOTHING, code=2)
        self.make_old("steps=30", *STOPS_BY_NOTHING)
        self.assertIn("warning: 'early_stop' has nothing to look at: no evaluation measures 'val/loss'; a new run is "
                      "refused for it\n", self.exprun("rerun", "1").err)
        self.assertEqual(self.rows("SELECT state, last_step FROM runs WHERE run = 2"), [("finished", 30)])


if __name__ == "__main__":
    unittest.main()
