"""Runs that nobody trained: rows of the store as a test needs them, past exprun."""
import math
import time

from support import ExprunTest

STARTED = int(time.time() * 1000) - 84 * 3_600_000  # three days ago, and some hours, which no test takes
SECONDS = 72


def summary(values):
    """What the row of a series says of {step: value}: NaN is NULL in the store."""
    finite = [(value, step) for step, value in values.items() if value is not None and math.isfinite(value)]
    low, high = min(finite, default=(None, None)), max(finite, default=(None, None))
    steps = list(values)
    return (len(values), len(values) - len(finite), values[steps[-1]], steps[-1], *low, *high)


def series_rows(run, name, values):
    return [("INSERT INTO series (run, name, timing, count, non_finite, last, last_step, min, min_step, max, max_step) "
             "VALUES (?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?)", (run, name, *summary(values))),
            *(("INSERT INTO metric (series, step, value, time_ms) SELECT max(id), ?, ?, ? FROM series", (step, value, 100 * step))
              for step, value in values.items())]


def parameter_rows(run, path, toml):
    return [("INSERT OR IGNORE INTO parameter_key (path) VALUES (?)", (path,)),
            ("INSERT INTO parameter (run, key, toml, value, changed) SELECT ?, id, ?, ?, 1 FROM parameter_key WHERE path = ?",
             (run, toml, toml.strip('"'), path))]


def run_rows(run, folder, state="finished", parameters=None, series=None):
    """SQL for a run with these {path: TOML} and {name: {step: value}}; one that runs does so on another host."""
    ended = STARTED + SECONDS * 1000
    rows = [("INSERT INTO run (id, uid, name, recipe_hash, seed, steps, folder, working_directory, command_line, data_fingerprint, "
             "started_ms, attempt) VALUES (?1, ?2, 'slow', ?2, ?5, 300, ?3, '/home', 'exprun slow.toml', 'data', ?4, 1)",
             (run, f"{run:032x}", folder, STARTED, int((parameters or {}).get("run.seed", 7)))),
            ("INSERT INTO attempt (run, attempt, from_step, last_step, state, started_ms, last_beat_ms, ended_ms, exit_code, message, "
             "host, boot_id, pid, pid_started) VALUES (?, 1, 0, ?, ?, ?, ?, ?, 0, ?, ?, 'boot', 1, 1)",
             (run, 17 if state == "diverged" else 300, state, STARTED, ended, None if state == "running" else ended,
              "the loss is NaN" if state == "diverged" else "", "another-host" if state == "running" else "box"))]
    for path, toml in (parameters or {}).items():
        rows += parameter_rows(run, path, toml)
    for name, values in (series or {}).items():
        rows += series_rows(run, name, values)
    return rows


class MadeRuns(ExprunTest):
    def make_store(self, *rows):
        """A store with nothing but these rows."""
        self.exprun("tiny.toml", "steps=1")
        tables = [name for name, in self.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
        self.change_store(*(f"DELETE FROM {table}" for table in tables))
        self.change_store(*(row for group in rows for row in group))

    def set_series(self, run, name, values):
        """In place of what was measured, which differs from machine to machine."""
        self.change_store(("DELETE FROM metric WHERE series IN (SELECT id FROM series WHERE run = ? AND name = ?)", (run, name)),
                          ("DELETE FROM series WHERE run = ? AND name = ?", (run, name)), *series_rows(run, name, values))
