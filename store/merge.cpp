#include <sqlite3.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/annotations.h"
#include "store/database/connection.h"
#include "store/database/open.h"
#include "store/metrics/series.h"
#include "store/rows.h"
#include "store/store.h"

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
        " SELECT blob FROM other.attempt_blob WHERE run = ?1) ON CONFLICT DO NOTHING",
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

void copy_sweep_rows(Connection& connection) {
  Query(connection,
        "INSERT INTO main.blob (hash, content) SELECT hash, content FROM other.blob "
        "WHERE id IN (SELECT space FROM other.sweep) ON CONFLICT DO NOTHING")
      .run();
  Query(connection, "INSERT INTO main.sweep (uid, name, space, started_ms) SELECT s.uid, s.name, " +
                        blob_here("s.space") + ", s.started_ms FROM other.sweep AS s WHERE " +
                        sweep_here("s.id") + " IS NULL ORDER BY s.started_ms, s.id")
      .run();
}

// How far a trial has come, from its run here.
std::string rank_of_trial(const std::string& trial) {
  return "coalesce((SELECT iif(removed_ms IS NOT NULL, 2, iif(state = 'finished', 4, 3)) "
         "FROM main.all_runs AS a WHERE a.run = " +
         trial + ".run), iif(" + trial + ".purged, 2, " + trial + ".problem <> ''))";
}

// A trial has the run that it has there, also one that was begun for another sweep. Where the two
// stores have different runs of it, the one that came further is taken, or else ours.
void copy_trials(Connection& connection) {
  Query(connection,
        "INSERT INTO main.trial AS mine (sweep, trial, recipe_hash, changes, run, problem, purged) "
        "SELECT " +
            sweep_here("t.sweep") +
            ", t.trial, t.recipe_hash, t.changes, (SELECT h.id FROM main.run AS h JOIN other.run "
            "AS r ON r.uid = h.uid WHERE r.id = t.run), t.problem, t.purged FROM other.trial AS t "
            "WHERE true ON CONFLICT DO UPDATE SET run = excluded.run, problem = excluded.problem, "
            "purged = excluded.purged WHERE " +
            rank_of_trial("excluded") + " > " + rank_of_trial("mine"))
      .run();
}

// Before the runs, which say what sweep they were begun for, and after them, which the trials name:
// also runs that an earlier merge brought.
void copy_sweeps(Connection& connection) {
  connection.write("merge sweeps into", Connection::Durability::synced, [&] {
    copy_sweep_rows(connection);
    copy_trials(connection);
  });
}

int64_t copy_run_row(Connection& connection, int64_t theirs, std::optional<int64_t> ours) {
  if (ours) {
    Query(connection,
          "UPDATE main.run SET (attempt, recipe_hash, steps) = (SELECT attempt, recipe_hash, steps "
          "FROM other.run WHERE id = ?) WHERE id = ?",
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
void copy_log(Connection& connection, const std::string& table, int64_t theirs, int64_t ours,
              const std::string& condition = "1") {
  const std::string columns = columns_of(connection, table, {"run", "id"});
  Query(connection,
        "INSERT INTO main." + table + " (run, " + columns + ") SELECT ?1, " + columns +
            " FROM other." + table + " AS t WHERE run = ?2 AND " + condition + " AND (" + columns +
            ") NOT IN (SELECT " + columns + " FROM main." + table + " WHERE run = ?1) ORDER BY id",
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

// In one transaction, onto the run that is here already, if there is one. Returns its id here.
int64_t copy_run(Connection& connection, int64_t theirs, std::optional<int64_t> ours) {
  return connection.write("merge a run into", Connection::Durability::synced, [&] {
    copy_blobs(connection, theirs);
    const int64_t run = copy_run_row(connection, theirs, ours);
    Query(connection, "DELETE FROM main.checkpoint WHERE run = ?", run).run();  // some may be gone
    for (const char* table : {"attempt", "checkpoint"}) copy_rows(connection, table, theirs, run);
    copy_log(connection, "event", theirs, run, "kind <> 'evaluation'");
    copy_parameters(connection, theirs, run);
    copy_blob_links(connection, theirs, run);
    copy_series(connection, theirs, run);
    return run;
  });
}

// A series here and the run that it is of, which may be purged meanwhile.
struct Target {
  int64_t run = 0, series = 0;
};

constexpr int64_t kStepsAtOnce = 50'000;
constexpr size_t kValuesAtOnce = 50'000;

// Values are written in parts, each in a transaction of its own, so that nobody waits long for the
// lock. In between the run may be taken off the disk, and its values would be nobody's.
void write_values(Connection& connection, const Target& ours, const std::function<void()>& write) {
  connection.write("merge values into", Connection::Durability::written, [&] {
    Query kept(connection,
               "SELECT 1 FROM main.series AS s JOIN main.run AS r ON r.id = s.run "
               "WHERE s.id = ? AND s.run = ? AND r.purging = 0",
               ours.series, ours.run);
    if (!kept.step())
      throw store_error("merge values into", connection.file(),
                        "a run was removed and purged while it was merged; merge again");
    write();
  });
}

void copy_archived(Connection& connection, int64_t theirs, const Target& ours) {
  const auto [first, last] = connection.guarded("read", [&] {
    Query ends(connection,
               "SELECT min(step), max(step) FROM other.metric_archived WHERE series = ?", theirs);
    ends.step();
    return std::pair(ends.optional_integer(0), ends.optional_integer(1));
  });
  if (!first) return;
  for (int64_t step = *first; step <= *last; step += kStepsAtOnce) {
    write_values(connection, ours, [&] {
      Query(connection,
            "INSERT OR REPLACE INTO main.metric_archived (series, attempt, step, value, time_ms) "
            "SELECT ?1, attempt, step, value, time_ms FROM other.metric_archived "
            "WHERE series = ?2 AND step >= ?3 AND step < ?4",
            ours.series, theirs, step, step + kStepsAtOnce)
          .run();
    });
  }
}

// Between two steps the live values of a series become these. What the other has no live value for,
// it went on without: ours is in its archive, copied before.
void replace_live(Connection& connection, const Target& ours, int64_t after, int64_t up_to,
                  const std::vector<MetricRow>& values) {
  write_values(connection, ours, [&] {
    Query(connection, "DELETE FROM main.metric WHERE series = ? AND step > ? AND step <= ?",
          ours.series, after, up_to)
        .run();
    insert_points(connection, ours.series, values);
  });
}

// The other store is read on a connection of its own: it stays at one moment of it all the while.
void copy_live(Connection& connection, Connection& other, int64_t theirs, const Target& ours) {
  int64_t done = kBeforeAllSteps;
  std::vector<MetricRow> part;
  other.guarded("read", [&] {
    each_point(other, theirs, kBeforeAllSteps, [&](const MetricRow& point) {
      part.push_back(point);
      if (part.size() < kValuesAtOnce) return;
      replace_live(connection, ours, done, point.step, part);
      done = point.step;
      part.clear();
    });
  });
  replace_live(connection, ours, done, std::numeric_limits<int64_t>::max(), part);
}

// Values of the series `theirs` and their summary, into ours, a part in each of several
// transactions. `connection` has the other store attached; `other` is one of the other store's own.
void copy_series_values(Connection& connection, Connection& other, int64_t theirs,
                        const Target& ours) {
  copy_archived(connection, theirs, ours);
  copy_live(connection, other, theirs, ours);
  write_values(connection, ours, [&] { recompute_summary(connection, ours.series); });
}

// Bringing the runs of another store in.

// As the other store is open: read-only, so that no transaction of ours locks it, and without a WAL
// index where none can be made.
std::string uri_as_open(Connection& other) {
  const char* file = sqlite3_db_filename(other.database().getHandle(), "main");
  const bool is_immutable = sqlite3_uri_boolean(file, "immutable", 0) != 0;
  return database_uri(other.file(), is_immutable ? "immutable=1" : "mode=ro");
}

// The other database under the name "other", for as long as this lives.
class Attached {
 public:
  Attached(Connection& connection, Connection& other) : connection_(connection) {
    connection_.guarded("attach", [&] {
      SQLite::Statement attach(connection_.database(), "ATTACH ? AS other");
      attach.bind(1, uri_as_open(other));
      attach.exec();
    });
  }
  ~Attached() {
    connection_.forget_statements();  // an open one keeps the database attached
    connection_.database().tryExec("DETACH other");
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  Connection& connection_;
};

// How far a run has come in one of the two stores.
struct Standing {
  int64_t id = 0, attempt = 0, attempt_began_ms = 0, last_beat_ms = 0;
};

std::optional<Standing> standing(Connection& connection, const std::string& schema,
                                 const std::string& uid) {
  Query query(connection,
              "SELECT r.id, r.attempt, a.started_ms, a.last_beat_ms FROM " + schema +
                  ".run AS r JOIN " + schema +
                  ".attempt AS a ON a.run = r.id AND a.attempt = r.attempt WHERE r.uid = ?",
              uid);
  if (!query.step()) return std::nullopt;
  return Standing{query.integer(0), query.integer(1), query.integer(2), query.integer(3)};
}

// Whether attempt `ours.attempt` is the same in both: then the other's later ones continue it.
bool continues(Connection& connection, const Standing& theirs, const Standing& ours) {
  Query query(connection, "SELECT started_ms FROM other.attempt WHERE run = ? AND attempt = ?",
              theirs.id, ours.attempt);
  return query.step() && query.integer(0) == ours.attempt_began_ms;
}

// (theirs, ours) of the series of training that both have; `all`, or those whose summaries differ.
std::vector<std::pair<int64_t, int64_t>> series_of_both(Connection& connection, int64_t theirs,
                                                        int64_t ours, bool all) {
  return connection.guarded("read", [&] {
    std::vector<std::pair<int64_t, int64_t>> both;
    Query query(connection,
                "SELECT t.id, o.id FROM other.series AS t JOIN main.series AS o ON o.name = t.name "
                "WHERE t.run = ?1 AND o.run = ?2 AND t.name NOT LIKE 'eval/%' AND (?3 OR t.count "
                "<> o.count OR "
                "t.last_step IS NOT o.last_step OR t.last IS NOT o.last)",
                theirs, ours, all);
    while (query.step()) both.emplace_back(query.integer(0), query.integer(1));
    return both;
  });
}

// The names of series that an event of the kind `evaluation` lists.
std::string series_in(const std::string& event) {
  const std::string text = event + ".text";
  return "json_each(iif(json_valid(" + text + "), " + text + ", '{}'), '$.series')";
}

// What `eval` measured there at steps that were not evaluated here; nothing of a series that was
// measured with other settings here.
void copy_evaluations(Connection& connection, int64_t theirs, int64_t ours) {
  const std::string differing =
      "(SELECT t_name.value FROM other.event AS e, " + series_in("e") +
      " AS t_name, main.event AS o, " + series_in("o") +
      " AS o_name WHERE e.run = ?2 AND e.kind = 'evaluation' AND o.run = ?1 AND "
      "o.kind = 'evaluation' AND t_name.value = o_name.value AND "
      "json_extract(e.text, '$.settings') <> json_extract(o.text, '$.settings'))";
  Query(connection,
        "INSERT INTO main.series (run, name, timing) SELECT ?1, name, timing FROM other.series "
        "WHERE run = ?2 AND name LIKE 'eval/%' AND name NOT IN " +
            differing + " ON CONFLICT DO NOTHING",
        ours, theirs)
      .run();
  const int before = connection.database().getTotalChanges();
  Query(connection,
        "INSERT INTO main.metric (series, step, value, time_ms) SELECT o.id, m.step, m.value, "
        "m.time_ms FROM other.series AS t JOIN main.series AS o ON o.run = ?1 AND o.name = t.name "
        "JOIN other.metric AS m ON m.series = t.id WHERE t.run = ?2 AND t.name LIKE 'eval/%' AND "
        "t.name NOT IN " +
            differing + " ON CONFLICT DO NOTHING",
        ours, theirs)
      .run();
  copy_log(connection, "event", theirs, ours,
           "kind = 'evaluation' AND NOT EXISTS (SELECT 1 FROM " + series_in("t") +
               " AS named WHERE named.value IN " + differing + ")");
  if (connection.database().getTotalChanges() == before) return;
  const auto changed =
      Query(connection, "SELECT id FROM main.series WHERE run = ? AND name LIKE 'eval/%'", ours)
          .integers();
  for (const int64_t series : changed) recompute_summary(connection, series);
}

// A tag that either store has, but for those that were removed from the run last.
void copy_tags(Connection& connection, int64_t theirs, int64_t ours) {
  const std::string untag = std::string("'") + kUntagEvent + "'";
  const std::string of_a_tag = std::string("kind IN ('") + kTagEvent + "', " + untag + ")";
  copy_log(connection, "event", theirs, ours, of_a_tag);
  const std::string removed = "(SELECT kind FROM main.event WHERE run = ?1 AND " + of_a_tag +
                              " AND text = t.name ORDER BY time_ms DESC, id DESC LIMIT 1) IS " +
                              untag;
  Query(connection, "DELETE FROM main.tag AS t WHERE run = ?1 AND " + removed, ours).run();
  Query(connection,
        "INSERT INTO main.tag (run, name) SELECT ?1, name FROM other.tag AS t WHERE run = ?2 AND "
        "NOT (" +
            removed + ") ON CONFLICT DO NOTHING",
        ours, theirs)
      .run();
}

// What people changed of a run there, whichever store has come further: tags, notes and results of
// `eval`. Whether anything was new.
bool copy_additions(Connection& connection, int64_t theirs, int64_t ours) {
  return connection.write("merge a run into", Connection::Durability::written, [&] {
    const int before = connection.database().getTotalChanges();
    copy_tags(connection, theirs, ours);
    copy_log(connection, "note", theirs, ours);
    copy_evaluations(connection, theirs, ours);
    return connection.database().getTotalChanges() > before;
  });
}

// Whether anything was to be done: values that an earlier merge could not finish count.
bool merge_run(Connection& connection, Connection& other, const Standing& theirs,
               const std::optional<Standing>& ours) {
  const bool further =
      !ours || theirs.attempt > ours->attempt || theirs.last_beat_ms > ours->last_beat_ms;
  const int64_t run =
      further ? copy_run(connection, theirs.id, ours ? std::optional(ours->id) : std::nullopt)
              : ours->id;
  const bool same = theirs.attempt == (ours ? ours->attempt : 0) &&
                    theirs.last_beat_ms == (ours ? ours->last_beat_ms : 0);
  const bool added = copy_additions(connection, theirs.id, run);
  if (!further && !same) return added;  // ours is ahead
  const auto series = series_of_both(connection, theirs.id, run, further);
  for (const auto& [from, to] : series) copy_series_values(connection, other, from, {run, to});
  return further || added || !series.empty();
}

// As removed ones, so that their trials do not wait to be run.
void copy_removed_runs_of_trials(Connection& connection, Connection& other) {
  const auto uids = connection.guarded("read", [&] {
    return Query(connection,
                 "SELECT uid FROM other.run WHERE removed_ms IS NOT NULL AND purging = 0 AND id IN "
                 "(SELECT run FROM other.trial) AND uid NOT IN (SELECT uid FROM main.run)")
        .texts();
  });
  for (const std::string& uid : uids)
    if (const auto theirs =
            connection.guarded("read", [&] { return standing(connection, "other", uid); }))
      merge_run(connection, other, *theirs, std::nullopt);
}

}  // namespace

Store::Merged Store::merge(const std::filesystem::path& other,
                           const std::function<bool(const RunRow&)>& is_running) {
  std::error_code ignored;
  if (std::filesystem::equivalent(other, connection_->file(), ignored))
    throw store_error("merge", other, "it is this store itself");
  const Store source(other, Access::read_only);  // says what is wrong with it, and migrates it
  const Attached attached(*connection_, *source.connection_);
  copy_sweeps(*connection_);
  Merged merged;
  std::vector<RunRow> rows = source.runs();
  std::ranges::reverse(rows);  // ids go up with time here too
  for (const RunRow& row : rows) {
    const auto [theirs, ours] = connection_->guarded("read", [&] {
      return std::pair(standing(*connection_, "other", row.uid),
                       standing(*connection_, "main", row.uid));
    });
    if (!theirs) continue;  // purged meanwhile
    const auto leave_out = [&](const char* why) {
      merged.kept_out.push_back(row.folder + ": " + why);
      if (ours) copy_additions(*connection_, theirs->id, ours->id);
    };
    if (row.state == RunState::running && is_running(row)) {
      leave_out("it is still running");
    } else if (ours && ours->attempt <= theirs->attempt && !connection_->guarded("read", [&] {
                 return continues(*connection_, *theirs, *ours);
               })) {
      leave_out("it was continued separately in both stores");
    } else {
      const bool changed = merge_run(*connection_, *source.connection_, *theirs, ours);
      ++(!ours ? merged.added : changed ? merged.updated : merged.unchanged);
    }
  }
  copy_removed_runs_of_trials(*connection_, *source.connection_);
  copy_sweeps(*connection_);
  return merged;
}

}  // namespace exprun
