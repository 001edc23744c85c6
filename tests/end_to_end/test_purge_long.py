"""A run of 6.5 million values is taken off the disk, in little memory (MLflow's gc took 21.8 GiB to delete one of that size)."""
import os
import sqlite3
import time
import unittest

from support import ExprunTest

ROWS, SERIES = 6_500_000, 13
MEMORY = 100 << 20


class Purge(ExprunTest):
    def test_memory_wal_and_file_stay_small(self):
        self.exprun("tiny.toml")
        self.exprun("tiny.toml", "name=other")
        database = self.folder / "runs" / "exprun.db"
        self.grow(database)
        full = database.stat().st_size
        self.exprun("rm", "tiny")
        self.collect(database)
        self.assertLess(database.stat().st_size, full // 50)
        self.assertEqual(self.rows("SELECT name FROM runs"), [("other",)])
        self.assertGreater(self.rows("SELECT count(*) FROM metrics")[0][0], 0)
        self.assertEqual(self.rows("PRAGMA integrity_check"), [("ok",)])

    def grow(self, database):
        """The first run becomes one of millions of values; nobody else has the store open."""
        with sqlite3.connect(database) as store:
            for i in range(SERIES):
                series = store.execute("INSERT INTO series (run, name, timing) VALUES (1, ?, 0)", (f"series_{i}",)).lastrowid
                store.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
                              "INSERT INTO metric (series, step, value, time_ms) SELECT ?, i, 1.0 / i, i FROM n",
                              (ROWS // SERIES, series))
        store.close()

    def collect(self, database, *words):
        """Runs `exprun gc`, and looks at its memory and at the write-ahead log meanwhile."""
        process = self.start("gc", *words)
        wal, largest = database.with_name("exprun.db-wal"), 0
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            largest = max(largest, wal.stat().st_size if wal.exists() else 0)
            time.sleep(0.01)
        process.returncode = os.waitstatus_to_exitcode(status)
        said = process.communicate()
        self.assertEqual(process.returncode, 0, said)
        self.assertLess(usage.ru_maxrss * 1024, MEMORY)
        self.assertLess(largest, 64 << 20)


if __name__ == "__main__":
    unittest.main()
