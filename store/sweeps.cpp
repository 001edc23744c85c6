// Sweeps: one for each name and space, so that running it again continues it.
#include "store/sweeps.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "store/blobs.h"
#include "store/database/connection.h"
#include "store/run_state.h"
#include "store/store.h"

namespace exprun {
namespace {

constexpr const char* kSelect =
    "SELECT s.id, s.uid, s.name, b.content, s.started_ms "
    "FROM sweep AS s JOIN blob AS b ON b.id = s.space ";

// Not by the id alone: sweeps that were merged into this store may be older than its own.
constexpr const char* kNewest = "s.started_ms DESC, s.id DESC";

SweepRow read_sweep(Query& query) {
  return {query.integer(0), query.text(1), query.text(2), query.text(3), query.integer(4)};
}

// Two sweeps cannot begin at the same moment: the caller is in a write transaction.
std::string new_uid(const std::string& name, int64_t space, int64_t now) {
  const ProcessIdentity process = this_process();
  return hash_hex(name + '\n' + std::to_string(space) + '\n' + std::to_string(now) + '\n' +
                  process.boot_id + '\n' + std::to_string(process.pid));
}

std::string advice(Connection& connection, const std::string& reference) {
  const auto names = Query(connection,
                           "SELECT name FROM sweep GROUP BY name "
                           "ORDER BY max(started_ms) DESC, max(id) DESC")
                         .texts();
  if (names.empty()) return "; it has no sweeps yet";
  const auto near = nearest(reference, names);
  return near ? "; did you mean '" + *near + "'?" : "; `exprun sweep ls` lists its sweeps";
}

}  // namespace

SweepRow Store::find_or_create_sweep(const std::string& name, const std::string& space_json) {
  return connection_->write("record the sweep in", Connection::Durability::synced, [&] {
    const int64_t now = now_ms();
    const int64_t space = keep_blob(*connection_, space_json);
    Query(*connection_,
          "INSERT INTO sweep (uid, name, space, started_ms) SELECT ?1, ?2, ?3, ?4 "
          "WHERE NOT EXISTS (SELECT 1 FROM sweep WHERE name = ?2 AND space = ?3)",
          new_uid(name, space, now), name, space, now)
        .run();
    Query query(*connection_, std::string(kSelect) + "WHERE s.name = ? AND s.space = ?", name,
                space);
    query.step();
    return read_sweep(query);
  });
}

std::optional<SweepRow> Store::sweep(int64_t id) const {
  return connection_->guarded("read", [&]() -> std::optional<SweepRow> {
    Query query(*connection_, std::string(kSelect) + "WHERE s.id = ?", id);
    if (!query.step()) return std::nullopt;
    return read_sweep(query);
  });
}

std::vector<SweepRow> Store::sweeps() const {
  return connection_->guarded("read", [&] {
    return Query(*connection_, std::string(kSelect) + "ORDER BY " + kNewest).rows(read_sweep);
  });
}

void Store::record_trials(int64_t sweep, const std::vector<TrialRow>& trials) {
  connection_->write("record the trials of a sweep in", Connection::Durability::synced, [&] {
    for (const TrialRow& trial : trials) {
      Query(*connection_,
            "INSERT INTO trial (sweep, trial, recipe_hash, changes, run) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET run = coalesce(excluded.run, run), "
            "purged = iif(excluded.run IS NULL, purged, 0)",
            sweep, trial.trial, trial.recipe_hash, trial.changes, trial.run)
          .run();
    }
  });
}

void Store::record_trial_run(int64_t sweep, int64_t trial, int64_t run) {
  connection_->write("record a trial in", Connection::Durability::synced,
                     [&] { set_trial_run(*connection_, sweep, trial, run); });
}

void set_trial_run(Connection& connection, int64_t sweep, int64_t trial, int64_t run) {
  Query(connection,
        "UPDATE trial SET run = ?, problem = '', purged = 0 WHERE sweep = ? AND trial = ?", run,
        sweep, trial)
      .run();
}

void Store::record_trial_problem(int64_t sweep, int64_t trial, const std::string& problem) {
  connection_->write("record a trial in", Connection::Durability::synced, [&] {
    Query(*connection_, "UPDATE trial SET problem = ?, purged = 0 WHERE sweep = ? AND trial = ?",
          problem, sweep, trial)
        .run();
  });
}

SweepRow Store::find_sweep(const std::string& reference) const {
  return connection_->guarded("read", [&] {
    Query query(*connection_,
                std::string(kSelect) +
                    "WHERE ?1 = '@last' OR CAST(s.id AS TEXT) = ?1 OR s.name = ?1 "
                    "OR (length(?1) >= 4 AND substr(s.uid, 1, length(?1)) = ?1) "
                    "ORDER BY CAST(s.id AS TEXT) = ?1 DESC, s.name = ?1 DESC, " +
                    kNewest + " LIMIT 1",
                reference);
    if (query.step()) return read_sweep(query);
    const std::string what = reference == "@last" ? "sweep" : "sweep '" + reference + "'";
    throw Error("store: no " + what + " in '" + connection_->file().string() + "'" +
                    advice(*connection_, reference),
                ExitCode::no_such_run);
  });
}

std::vector<int64_t> Store::runs_of_sweep(int64_t sweep) const {
  return connection_->guarded("read", [&] {
    return Query(*connection_,
                 "SELECT t.run FROM trial AS t JOIN run AS r ON r.id = t.run "
                 "WHERE t.sweep = ? AND r.removed_ms IS NULL ORDER BY t.trial",
                 sweep)
        .integers();
  });
}

std::vector<int64_t> Store::sweeps_with_run(int64_t run) const {
  return connection_->guarded("read", [&] {
    return Query(*connection_, "SELECT DISTINCT sweep FROM trial WHERE run = ? ORDER BY sweep", run)
        .integers();
  });
}

std::vector<TrialRow> Store::trials(int64_t sweep) const {
  return connection_->guarded("read", [&] {
    return Query(*connection_,
                 "SELECT trial, recipe_hash, changes, run, problem, purged FROM trial WHERE sweep "
                 "= ? "
                 "ORDER BY trial",
                 sweep)
        .rows([](Query& row) {
          return TrialRow{row.integer(0),          row.text(1), row.text(2),
                          row.optional_integer(3), row.text(4), row.integer(5) != 0};
        });
  });
}

}  // namespace exprun
