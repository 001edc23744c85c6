-- Format 1. What every column means is in store/FORMAT.md.

CREATE TABLE blob (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  content BLOB NOT NULL
) STRICT;

CREATE TABLE sweep (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uid TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  space INTEGER NOT NULL REFERENCES blob (id),
  started_ms INTEGER NOT NULL,
  UNIQUE (name, space)
) STRICT;

CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uid TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  recipe_hash TEXT NOT NULL,
  seed INTEGER NOT NULL,
  steps INTEGER NOT NULL,
  folder TEXT NOT NULL,
  working_directory TEXT NOT NULL,
  command_line TEXT NOT NULL,
  data_fingerprint TEXT NOT NULL,
  started_ms INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  sweep INTEGER REFERENCES sweep (id),
  trial INTEGER,
  removed_ms INTEGER,
  purging INTEGER NOT NULL DEFAULT 0 CHECK (purging IN (0, 1))
) STRICT;

CREATE INDEX run_by_name ON run (name, recipe_hash);
CREATE INDEX run_by_trial ON run (sweep, trial) WHERE sweep IS NOT NULL;

CREATE TABLE attempt (
  run INTEGER NOT NULL REFERENCES run (id),
  attempt INTEGER NOT NULL,
  from_step INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'finished', 'diverged', 'failed', 'interrupted',
                                       'preempted', 'killed', 'crashed', 'pruned')),
  started_ms INTEGER NOT NULL,
  last_beat_ms INTEGER NOT NULL,
  ended_ms INTEGER,
  exit_code INTEGER,
  signal INTEGER,
  message TEXT NOT NULL DEFAULT '',
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  machine_id TEXT NOT NULL DEFAULT '',
  pid INTEGER NOT NULL,
  pid_started INTEGER NOT NULL,
  version TEXT NOT NULL DEFAULT '',
  git_commit TEXT,
  git_dirty INTEGER CHECK (git_dirty IN (0, 1)),
  PRIMARY KEY (run, attempt),
  CHECK ((state = 'running') = (ended_ms IS NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX attempt_running ON attempt (run) WHERE ended_ms IS NULL;

CREATE TABLE run_blob (
  run INTEGER NOT NULL REFERENCES run (id),
  kind TEXT NOT NULL,
  blob INTEGER NOT NULL REFERENCES blob (id),
  PRIMARY KEY (run, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt_blob (
  run INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  kind TEXT NOT NULL,
  blob INTEGER NOT NULL REFERENCES blob (id),
  PRIMARY KEY (run, attempt, kind),
  FOREIGN KEY (run, attempt) REFERENCES attempt (run, attempt)
) STRICT, WITHOUT ROWID;

-- What removing a run looks for; foreign keys ask for the blobs.
CREATE INDEX run_blob_by_blob ON run_blob (blob);
CREATE INDEX attempt_blob_by_blob ON attempt_blob (blob);

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
  problem TEXT NOT NULL DEFAULT '',
  purged INTEGER NOT NULL DEFAULT 0 CHECK (purged IN (0, 1)),
  PRIMARY KEY (sweep, trial)
) STRICT, WITHOUT ROWID;

CREATE INDEX trial_by_run ON trial (run) WHERE run IS NOT NULL;

CREATE TABLE parameter_key (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE parameter (
  run INTEGER NOT NULL REFERENCES run (id),
  key INTEGER NOT NULL REFERENCES parameter_key (id),
  toml TEXT NOT NULL,
  value ANY,
  changed INTEGER NOT NULL CHECK (changed IN (0, 1)),
  PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

-- Which keys tell any runs apart: a report asks it of every key.
CREATE INDEX parameter_changed ON parameter (key) WHERE changed = 1;

-- AUTOINCREMENT: the id of a purged series never names another one, to which late values would go.
CREATE TABLE series (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES run (id),
  name TEXT NOT NULL,
  timing INTEGER NOT NULL CHECK (timing IN (0, 1)),
  count INTEGER NOT NULL DEFAULT 0,
  non_finite INTEGER NOT NULL DEFAULT 0,
  first_non_finite_step INTEGER,
  last REAL,
  last_step INTEGER,
  min REAL,
  min_step INTEGER,
  max REAL,
  max_step INTEGER,
  UNIQUE (run, name)
) STRICT;

-- One series of all runs: tables of runs, and @best.
CREATE INDEX series_by_name ON series (name, run);

-- No foreign keys here: a look-up for every value would cost more than the value.
CREATE TABLE metric (
  series INTEGER NOT NULL,
  step INTEGER NOT NULL,
  value REAL,
  time_ms INTEGER NOT NULL,
  PRIMARY KEY (series, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric_archived (
  series INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  value REAL,
  time_ms INTEGER NOT NULL,
  PRIMARY KEY (series, attempt, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoint (
  run INTEGER NOT NULL REFERENCES run (id),
  step INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  written_ms INTEGER NOT NULL,
  folder TEXT NOT NULL,
  PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run (id),
  attempt INTEGER NOT NULL,
  time_ms INTEGER NOT NULL,
  level TEXT NOT NULL CHECK (level IN ('info', 'warning', 'error')),
  kind TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;

CREATE INDEX event_by_run ON event (run);

-- Views, for people.

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
       a.host, a.boot_id, a.machine_id, a.pid, r.started_ms, a.ended_ms, a.last_beat_ms, r.removed_ms, r.purging
  FROM run AS r JOIN attempt AS a ON a.run = r.id AND a.attempt = r.attempt;

CREATE VIEW runs AS SELECT * FROM all_runs WHERE removed_ms IS NULL;

CREATE VIEW removed_runs AS SELECT * FROM all_runs WHERE removed_ms IS NOT NULL;

CREATE VIEW trials AS
SELECT w.name AS sweep_name, t.sweep, t.trial, t.changes, t.recipe_hash, t.run,
       CASE WHEN r.removed_ms IS NOT NULL OR t.purged THEN 'removed'
            ELSE coalesce(a.state, iif(t.problem = '', 'waiting', 'failed')) END AS state,
       a.last_step, t.problem
  FROM trial AS t JOIN sweep AS w ON w.id = t.sweep
  LEFT JOIN run AS r ON r.id = t.run
  LEFT JOIN attempt AS a ON a.run = r.id AND a.attempt = r.attempt AND r.removed_ms IS NULL;

-- The state follows from the trials: nothing is stored that a killed process could leave wrong.
CREATE VIEW sweeps AS
SELECT w.id AS sweep, w.uid, w.name,
       CASE WHEN sum(t.state = 'running') > 0 THEN 'running'
            WHEN sum(t.state IN ('waiting', 'interrupted', 'preempted', 'killed', 'crashed')) > 0
            THEN 'interrupted'
            WHEN sum(t.state IN ('failed', 'diverged')) > 0 THEN 'failed'
            WHEN min(t.state = 'removed') THEN 'removed'
            ELSE 'finished' END AS state,
       count(t.trial) AS trials, sum(t.state = 'finished') AS finished,
       datetime(w.started_ms / 1000, 'unixepoch') AS started, w.started_ms
  FROM sweep AS w LEFT JOIN trials AS t ON t.sweep = w.id GROUP BY w.id;

CREATE VIEW parameters AS
SELECT p.run, k.path, p.value, p.toml, p.changed
  FROM parameter AS p JOIN parameter_key AS k ON k.id = p.key;

CREATE VIEW metrics AS
SELECT s.run, s.name, m.step, m.value,
       CASE WHEN m.value IS NULL THEN 'nan' WHEN m.value = 9e999 THEN 'inf'
            WHEN m.value = -9e999 THEN '-inf' ELSE 'finite' END AS kind,
       m.time_ms / 1000.0 AS seconds
  FROM series AS s JOIN metric AS m ON m.series = s.id;

CREATE VIEW metrics_archived AS
SELECT s.run, m.attempt, s.name, m.step, m.value,
       CASE WHEN m.value IS NULL THEN 'nan' WHEN m.value = 9e999 THEN 'inf'
            WHEN m.value = -9e999 THEN '-inf' ELSE 'finite' END AS kind,
       m.time_ms / 1000.0 AS seconds
  FROM series AS s JOIN metric_archived AS m ON m.series = s.id;
