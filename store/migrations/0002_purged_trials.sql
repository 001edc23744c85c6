-- A trial remembers that its run was purged: it does not wait to be run.
ALTER TABLE trial ADD COLUMN purged INTEGER NOT NULL DEFAULT 0 CHECK (purged IN (0, 1));

DROP VIEW trials;

CREATE VIEW trials AS
SELECT w.name AS sweep_name, t.sweep, t.trial, t.changes, t.recipe_hash, t.run,
       CASE WHEN r.removed_ms IS NOT NULL OR t.purged THEN 'removed'
            ELSE coalesce(a.state, iif(t.problem = '', 'waiting', 'failed')) END AS state,
       a.last_step, t.problem
  FROM trial AS t JOIN sweep AS w ON w.id = t.sweep
  LEFT JOIN run AS r ON r.id = t.run
  LEFT JOIN attempt AS a ON a.run = r.id AND a.attempt = r.attempt AND r.removed_ms IS NULL;
