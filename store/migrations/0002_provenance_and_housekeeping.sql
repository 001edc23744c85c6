-- Format 2: provenance of attempts, tags, notes, trials, removed runs.

ALTER TABLE run ADD COLUMN removed_ms INTEGER;
ALTER TABLE run ADD COLUMN purging INTEGER NOT NULL DEFAULT 0 CHECK (purging IN (0, 1));

ALTER TABLE attempt ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE attempt ADD COLUMN git_commit TEXT;
ALTER TABLE attempt ADD COLUMN git_dirty INTEGER CHECK (git_dirty IN (0, 1));
CREATE INDEX attempt_running ON attempt (run) WHERE ended_ms IS NULL;

CREATE TABLE attempt_blob (
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  kind TEXT NOT NULL,
  blob INTEGER NOT NULL REFERENCES blob (id),
  PRIMARY KEY (run, attempt, kind),
  FOREIGN KEY (run, attempt) REFERENCES attempt (run, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE tag (
  run INTEGER NOT NULL REFERENCES run (id),
  name TEXT NOT NULL,
  PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX tag_by_name ON tag (name);

CREATE TABLE note (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (id),
  time_ms INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;

CREATE INDEX note_by_run ON note (run);

CREATE TABLE trial (
  sweep INTEGER NOT NULL REFERENCES sweep (id),
  trial INTEGER NOT NULL,
  recipe_hash TEXT NOT NULL,
  changes TEXT NOT NULL,
  run INTEGER REFERENCES run (id),
  PRIMARY KEY (sweep, trial)
) STRICT, WITHOUT ROWID;

CREATE INDEX trial_by_run ON trial (run) WHERE run IS NOT NULL;

-- One series of all runs: tables of runs, and @best.
CREATE INDEX series_by_name ON series (name, run);

-- What removing a run looks for; foreign keys ask for the blobs.
CREATE INDEX run_blob_by_blob ON run_blob (blob);
CREATE INDEX attempt_blob_by_blob ON attempt_blob (blob);

DROP VIEW runs;

CREATE VIEW all_runs AS
SELECT r.id AS run, r.uid, r.name, a.state, r.steps, a.last_step, r.attempt,
       (SELECT sum(coalesce(l.ended_ms, l.last_beat_ms) - l.started_ms) / 1000.0
          FROM attempt AS l WHERE l.run = r.id) AS seconds,
       datetime(r.started_ms / 1000, 'unixepoch') AS started,
       datetime(a.ended_ms / 1000, 'unixepoch') AS ended,
       a.exit_code, a.signal, a.message,
       (SELECT group_concat(t.name, ',') FROM tag AS t WHERE t.run = r.id) AS tags,
       r.seed, r.recipe_hash, r.data_fingerprint,
       r.folder, r.working_directory, r.command_line, r.sweep, r.trial,
       a.version, a.git_commit, a.git_dirty,
       a.host, a.boot_id, a.pid, r.started_ms, a.ended_ms, a.last_beat_ms, r.removed_ms, r.purging
  FROM run AS r JOIN attempt AS a ON a.run = r.id AND a.attempt = r.attempt;

CREATE VIEW runs AS SELECT * FROM all_runs WHERE removed_ms IS NULL;

CREATE VIEW removed_runs AS SELECT * FROM all_runs WHERE removed_ms IS NOT NULL;

CREATE VIEW trials AS
SELECT w.name AS sweep_name, t.sweep, t.trial, t.changes, t.recipe_hash, t.run,
       coalesce(a.state, 'waiting') AS state, a.last_step
  FROM trial AS t JOIN sweep AS w ON w.id = t.sweep
  LEFT JOIN run AS r ON r.id = t.run
  LEFT JOIN attempt AS a ON a.run = r.id AND a.attempt = r.attempt;
