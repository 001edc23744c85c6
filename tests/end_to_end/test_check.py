"""`exprun check` judges the recipe, whatever the state of the store beside it."""
import contextlib
import sqlite3
import unittest

from support import ExprunTest


class Check(ExprunTest):
    def test_beside_a_foreign_database(self):
        (self.folder / "runs").mkdir()
        with contextlib.closing(sqlite3.connect(self.folder / "runs/exprun.db")) as db:
            db.execute("CREATE TABLE other (id)")
        self.assertIn("no mistakes", self.exprun("check", "tiny.toml").out)

    def test_beside_a_run_whose_data_file_is_damaged(self):
        self.exprun("tiny.toml", "steps=2")
        (self.run_folder() / "data.json").write_text("{")
        self.assertIn("no mistakes", self.exprun("check", "tiny.toml", "steps=2").out)


if __name__ == "__main__":
    unittest.main()
