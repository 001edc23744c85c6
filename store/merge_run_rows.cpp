#include "store/merge_run_rows.h"

#include <algorithm>
#include <string>
#include <vector>

#include "store/query.h"

namespace exprun {
namespace {

// "a, b, c": the columns of a table that both stores have, without `left_out`.
std::string columns_of(Connection& connection, const std::string& table,
                       const std::vector<std::string>& left_out) {
  std::string names;
  Query query(connection, "SELECT name FROM pragma_table_info('" + table + "')");
  while (query.step()) {
    const std::string name = query.text(0);
    if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

void copy_blobs(Connection& connection, int64_t theirs) {
  Query(connection,
        "INSERT INTO main.blob (hash, content) SELECT hash, content FROM other.blob WHERE id IN "
        "(SELECT blob FROM other.run_blob WHERE run = ?1 UNION "
        " SELECT blob FROM other.attempt_blob WHERE run = ?1 UNION "
        " SELECT w.space FROM other.sweep AS w JOIN other.run AS r ON r.sweep = w.id "
        "  WHERE r.id = ?1) ON CONFLICT DO NOTHING",
        theirs)
      .run();
}

// The blob here with the content of `column`, a blob of the other store.
std::string blob_here(const std::string& column) {
  return "(SELECT b.id FROM main.blob AS b JOIN other.blob AS o ON o.hash = b.hash WHERE o.id = " +
         column + ")";
}

std::string sweep_here(const std::string& column) {
  return "(SELECT w.id FROM main.sweep AS w JOIN other.sweep AS o ON o.name = w.name AND w.space "
         "= " +
         blob_here("o.space") + " WHERE o.id = " + column + ")";
}

void copy_sweep(Connection& connection, int64_t theirs) {
  Query(connection,
        "INSERT INTO main.sweep (uid, name, space, state, started_ms, ended_ms) "
        "SELECT w.uid, w.name, " +
            blob_here("w.space") +
            ", w.state, w.started_ms, w.ended_ms FROM other.sweep AS w "
            "JOIN other.run AS r ON r.sweep = w.id WHERE r.id = ? ON CONFLICT DO NOTHING",
        theirs)
      .run();
}

// Every point of the sweep, and this run as the one that it is of.
void copy_trial(Connection& connection, int64_t theirs, int64_t ours) {
  Query(connection,
        "INSERT OR IGNORE INTO main.trial (sweep, trial, recipe_hash, changes) SELECT " +
            sweep_here("t.sweep") +
            ", t.trial, t.recipe_hash, t.changes FROM other.trial AS t "
            "JOIN other.run AS r ON r.sweep = t.sweep WHERE r.id = ?",
        theirs)
      .run();
  Query(connection,
        "UPDATE main.trial SET run = ?1 WHERE (sweep, trial) IN "
        "(SELECT sweep, trial FROM main.run WHERE id = ?1)",
        ours)
      .run();
}

int64_t copy_run_row(Connection& connection, int64_t theirs, std::optional<int64_t> ours) {
  if (ours) {
    Query(connection,
          "UPDATE main.run SET attempt = (SELECT attempt FROM other.run WHERE id = ?) WHERE id = ?",
          theirs, *ours)
        .run();
    return *ours;
  }
  const std::string columns = columns_of(connection, "run", {"id", "sweep"});
  Query(connection,
        "INSERT INTO main.run (sweep, " + columns + ") SELECT " + sweep_here("sweep") + ", " +
            columns + " FROM other.run WHERE id = ?",
        theirs)
      .run();
  return connection.database().getLastInsertRowid();
}

// Rows of a table whose key begins with the run; those that are here already are replaced.
void copy_rows(Connection& connection, const std::string& table, int64_t theirs, int64_t ours) {
  const std::string columns = columns_of(connection, table, {"run"});
  Query(connection,
        "INSERT OR REPLACE INTO main." + table + " (run, " + columns + ") SELECT ?1, " + columns +
            " FROM other." + table + " WHERE run = ?2",
        ours, theirs)
      .run();
}

// Rows of a table with a number of its own, which are the same when all the rest is.
void copy_log(Connection& connection, const std::string& table, int64_t theirs, int64_t ours) {
  const std::string columns = columns_of(connection, table, {"run", "id"});
  Query(connection,
        "INSERT INTO main." + table + " (run, " + columns + ") SELECT ?1, " + columns +
            " FROM other." + table + " AS t WHERE run = ?2 AND (" + columns + ") NOT IN (SELECT " +
            columns + " FROM main." + table + " WHERE run = ?1) ORDER BY id",
        ours, theirs)
      .run();
}

void copy_parameters(Connection& connection, int64_t theirs, int64_t ours) {
  Query(connection,
        "INSERT INTO main.parameter_key (path) SELECT k.path FROM other.parameter_key AS k JOIN "
        "other.parameter AS p ON p.key = k.id WHERE p.run = ? ON CONFLICT DO NOTHING",
        theirs)
      .run();
  Query(connection,
        "INSERT OR REPLACE INTO main.parameter (run, key, toml, value, changed) "
        "SELECT ?1, (SELECT h.id FROM main.parameter_key AS h WHERE h.path = k.path), p.toml, "
        "p.value, p.changed FROM other.parameter AS p JOIN other.parameter_key AS k "
        "ON k.id = p.key WHERE p.run = ?2",
        ours, theirs)
      .run();
}

void copy_blob_links(Connection& connection, int64_t theirs, int64_t ours) {
  Query(connection,
        "INSERT OR REPLACE INTO main.run_blob (run, kind, blob) SELECT ?1, kind, " +
            blob_here("l.blob") + " FROM other.run_blob AS l WHERE run = ?2",
        ours, theirs)
      .run();
  Query(connection,
        "INSERT OR REPLACE INTO main.attempt_blob (run, attempt, kind, blob) "
        "SELECT ?1, attempt, kind, " +
            blob_here("l.blob") + " FROM other.attempt_blob AS l WHERE run = ?2",
        ours, theirs)
      .run();
}

void copy_series(Connection& connection, int64_t theirs, int64_t ours) {
  Query(connection,
        "INSERT INTO main.series (run, name, timing) SELECT ?1, name, timing FROM other.series "
        "WHERE run = ?2 ON CONFLICT DO NOTHING",
        ours, theirs)
      .run();
}

}  // namespace

int64_t copy_run(Connection& connection, int64_t theirs, std::optional<int64_t> ours) {
  return connection.write("merge a run into", Connection::Durability::synced, [&] {
    copy_blobs(connection, theirs);
    copy_sweep(connection, theirs);
    const int64_t run = copy_run_row(connection, theirs, ours);
    copy_trial(connection, theirs, run);
    Query(connection, "DELETE FROM main.checkpoint WHERE run = ?", run).run();  // some may be gone
    for (const char* table : {"attempt", "checkpoint", "tag"})
      copy_rows(connection, table, theirs, run);
    for (const char* table : {"event", "note"}) copy_log(connection, table, theirs, run);
    copy_parameters(connection, theirs, run);
    copy_blob_links(connection, theirs, run);
    copy_series(connection, theirs, run);
    return run;
  });
}

}  // namespace exprun
