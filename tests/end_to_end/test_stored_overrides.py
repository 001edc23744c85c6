"""The changes of a recipe are stored with the whole paths of their keys, so that a later change cannot give them another meaning."""
import contextlib
import json
import sqlite3
import unittest

from support import ExprunTest


class StoredOverrides(ExprunTest):
    def store_as_typed(self, *overrides):
        """Adds overrides to the stored recipe of the run, as they were typed."""
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as store, store:
            key, text = store.execute("SELECT blob.id, CAST(content AS TEXT) FROM blob JOIN run_blob ON blob = blob.id "
                                      "WHERE kind = 'recipe'").fetchone()
            recipe = json.loads(text)
            recipe["overrides"] += overrides
            store.execute("UPDATE blob SET content = CAST(? AS BLOB) WHERE id = ?", (json.dumps(recipe), key))

    def test_keys_are_stored_whole(self):
        self.exprun("tiny.toml", "steps=1", "lr=0.5", "~seed", "keep_last=2")
        self.assertEqual(json.loads((self.run_folder() / "recipe.json").read_text())["overrides"],
                         ["run.steps=1", "optimizer.lr=0.5", "~run.seed", "checkpoint.keep_last=2"])

    def test_a_short_key_that_is_stored_means_the_key_that_it_was(self):
        self.exprun("tiny.toml", "steps=1")
        self.store_as_typed("decay=all", "~seed")
        self.exprun("check", "tiny.toml", "decay=all", "schedule.type=wsd", code=2)  # it names two keys now
        self.exprun("rerun", "1", "schedule.type=wsd")
        self.assertEqual(self.rows("SELECT toml FROM parameter JOIN parameter_key ON id = key WHERE run = 2 AND "
                                   "path = 'optimizer.decay'"), [('"all"',)])


if __name__ == "__main__":
    unittest.main()
