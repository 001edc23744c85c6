#include "store/attempts.h"

#include "base/clock.h"
#include "base/files/file.h"
#include "store/blobs.h"
#include "store/database/connection.h"
#include "store/metrics/series.h"
#include "store/rows.h"
#include "store/run_state.h"
#include "store/store.h"

namespace exprun {
namespace {

// Attempts: how they begin and end.

int64_t current_attempt(Connection& connection, int64_t run) {
  Query query(connection, "SELECT attempt FROM run WHERE id = ?", run);
  if (query.step()) return query.integer(0);
  throw Error("store: no run " + std::to_string(run) + " in '" + connection.file().string() + "'",
              ExitCode::no_such_run);
}

AttemptRow read_attempt(Query& query) {
  AttemptRow row;
  row.run = query.integer(0);
  row.attempt = query.integer(1);
  row.from_step = query.integer(2);
  row.last_step = query.integer(3);
  row.state = query.text(4);
  row.started_ms = query.integer(5);
  row.ended_ms = query.optional_integer(6);
  if (!query.is_null(7)) row.exit_code = static_cast<int>(query.integer(7));
  if (!query.is_null(8)) row.signal = static_cast<int>(query.integer(8));
  row.message = query.text(9);
  row.host = query.text(10);
  row.version = query.text(11);
  row.git_commit = query.optional_text(12);
  row.git_dirty = query.optional_flag(13);
  row.recipe_hash = query.text(14);
  return row;
}

// Ends the attempt of `row` as the row says, if it is recorded as running. Returns whether it was.
bool end_as_observed(Connection& connection, const RunRow& row) {
  return Query(connection,
               "UPDATE attempt SET state = ?3, ended_ms = max(coalesce(?4, 0), last_beat_ms), "
               "exit_code = ?5, signal = ?6, message = ?7 "
               "WHERE run = ?1 AND attempt = ?2 AND state = 'running'",
               row.id, row.attempt, to_string(row.state), row.ended_ms, row.exit_code, row.signal,
               row.message)
             .run() == 1;
}

}  // namespace

void insert_attempt(Connection& connection, int64_t run, int64_t attempt, int64_t from_step,
                    const Provenance& provenance, int64_t now) {
  const ProcessIdentity process = this_process();
  Query(connection,
        "INSERT INTO attempt (run, attempt, from_step, last_step, state, started_ms, last_beat_ms, "
        "host, boot_id, machine_id, pid, pid_started, version, git_commit, git_dirty) "
        "VALUES (?1, ?2, ?3, ?3, 'running', ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        run, attempt, from_step, now, process.host, process.boot_id, process.machine_id,
        process.pid, process.pid_started, provenance.version, provenance.git_commit,
        provenance.git_dirty)
      .run();
  keep_attempt_blob(connection, run, attempt, "environment", provenance.environment_json);
  keep_attempt_blob(connection, run, attempt, "diff", provenance.git_diff);
}

// In one write, so that nobody begins another attempt in between.
bool end_if_current(Connection& connection, const RunRow& ended) {
  return connection.write("record the end of a run in", Connection::Durability::synced, [&] {
    return current_attempt(connection, ended.id) == ended.attempt &&
           end_as_observed(connection, ended);
  });
}

// Whoever begins an attempt holds the lock, so the one before is over.
int64_t Store::begin_attempt(int64_t run, int64_t from_step, const Provenance& provenance,
                             const std::optional<ChangedRecipe>& changed) {
  const auto kept =
      connection_->guarded("read", [&] { return KeptSummaries(*connection_, run, from_step); });
  return connection_->write("record an attempt in", Connection::Durability::synced, [&] {
    RunRow before;
    before.id = run;
    before.attempt = current_attempt(*connection_, run);
    before.state = RunState::crashed;
    before.message = kCrashMessage;
    end_as_observed(*connection_, before);
    archive_after(*connection_, run, from_step, kept);
    if (changed) change_recipe(*connection_, run, before.attempt, *changed);
    insert_attempt(*connection_, run, before.attempt + 1, from_step, provenance, now_ms());
    Query(*connection_, "UPDATE run SET attempt = ? WHERE id = ?", before.attempt + 1, run).run();
    return before.attempt + 1;
  });
}

void Store::roll_back(int64_t run, int64_t step) {
  const auto kept =
      connection_->guarded("read", [&] { return KeptSummaries(*connection_, run, step); });
  connection_->write("record a rollback in", Connection::Durability::written, [&] {
    archive_after(*connection_, run, step, kept);
    Query(*connection_, "UPDATE attempt SET last_step = ? WHERE run = ? AND attempt = ?", step, run,
          current_attempt(*connection_, run))
        .run();
  });
}

// A crash may have been recorded by somebody who saw the lock free for a moment; what the launcher
// saw is the truth, so it replaces any earlier end.
void Store::end_attempt(int64_t run, RunState state, std::optional<int> exit_code,
                        std::optional<int> signal, const std::string& message) {
  connection_->write("record the end of a run in", Connection::Durability::synced, [&] {
    Query(*connection_,
          "UPDATE attempt SET state = ?3, ended_ms = max(?4, last_beat_ms), "
          "last_beat_ms = max(?4, last_beat_ms), exit_code = ?5, "
          "signal = ?6, message = ?7 WHERE run = ?1 AND attempt = ?2",
          run, current_attempt(*connection_, run), to_string(state), now_ms(), exit_code, signal,
          message)
        .run();
  });
}

bool Store::reconcile_state(const RunRow& row) {
  if (row.state != RunState::running) return false;
  const RunRow ended = as_observed(row, folder_of(connection_->file()));
  if (ended.state == RunState::running) return false;
  return end_if_current(*connection_, ended);
}

bool Store::give_up(RunRow row, const std::string& message) {
  if (row.state != RunState::running || !on_another_host(row)) return false;
  row.state = RunState::crashed;
  row.message = message;
  return end_if_current(*connection_, row);
}

void Store::reconcile_all() {
  const auto running = connection_->guarded("read", [&] {
    return select_runs(*connection_,
                       "WHERE run IN (SELECT run FROM attempt WHERE ended_ms IS NULL)");
  });
  for (const RunRow& row : running) reconcile_state(row);
}

std::vector<AttemptRow> Store::attempts(int64_t run) const {
  return connection_->guarded("read", [&] {
    return Query(
               *connection_,
               "SELECT run, attempt, from_step, last_step, state, started_ms, ended_ms, "
               "exit_code, signal, message, host, version, git_commit, git_dirty, "
               "coalesce((SELECT b.content FROM attempt_blob AS l JOIN blob AS b ON b.id = l.blob "
               "          WHERE l.run = a.run AND l.attempt >= a.attempt AND l.kind = "
               "'recipe_hash' ORDER BY l.attempt LIMIT 1), "
               "         (SELECT recipe_hash FROM run AS r WHERE r.id = a.run)) "
               "FROM attempt AS a WHERE run = ? ORDER BY attempt",
               run)
        .rows(read_attempt);
  });
}

namespace {

// A live row of step s was written by the last attempt that began before s, because every attempt
// archives what lies after its beginning. The first attempt also wrote step 0.
constexpr const char* kArchive =
    "INSERT OR REPLACE INTO metric_archived (series, attempt, step, value, time_ms) "
    "SELECT m.series, coalesce((SELECT max(a.attempt) FROM attempt AS a "
    "                           WHERE a.run = ?1 AND a.from_step < m.step), 1), "
    "       m.step, m.value, m.time_ms "
    "FROM metric AS m WHERE m.series = ?2 AND m.step > ?3";

}  // namespace

void archive_after(Connection& connection, int64_t run, int64_t from_step,
                   const KeptSummaries& kept) {
  for (const SeriesRow& series : series_rows(connection, run)) {
    if (series.last_step <= from_step) continue;
    Query(connection, kArchive, run, series.id, from_step).run();
    Query(connection, "DELETE FROM metric WHERE series = ? AND step > ?", series.id, from_step)
        .run();
    kept.restore(connection, series);
  }
  Query(connection, "DELETE FROM checkpoint WHERE run = ? AND step > ?", run, from_step).run();
}

// What an attempt leaves. The row of a checkpoint comes after its folder, so a row means one that
// can be used.

void Store::record_checkpoint(const CheckpointRow& checkpoint) {
  connection_->write("record a checkpoint in", Connection::Durability::synced, [&] {
    Query(*connection_,
          "INSERT OR REPLACE INTO checkpoint (run, step, attempt, bytes, written_ms, folder) "
          "VALUES (?, ?, ?, ?, ?, ?)",
          checkpoint.run, checkpoint.step, checkpoint.attempt, checkpoint.bytes,
          checkpoint.written_ms, checkpoint.folder)
        .run();
  });
}

void Store::forget_checkpoint(int64_t run, int64_t step) {
  connection_->write("forget a checkpoint in", Connection::Durability::written, [&] {
    Query(*connection_, "DELETE FROM checkpoint WHERE run = ? AND step = ?", run, step).run();
  });
}

std::vector<CheckpointRow> Store::checkpoints(int64_t run) const {
  return connection_->guarded("read", [&] {
    return Query(*connection_,
                 "SELECT run, step, attempt, bytes, written_ms, folder FROM checkpoint "
                 "WHERE run = ? ORDER BY step",
                 run)
        .rows([](Query& row) {
          return CheckpointRow{row.integer(0), row.integer(1), row.integer(2),
                               row.integer(3), row.integer(4), row.text(5)};
        });
  });
}

void insert_event(Connection& connection, const EventRow& event) {
  Query(connection,
        "INSERT INTO event (run, attempt, time_ms, level, kind, text) "
        "SELECT id, attempt, ?, ?, ?, ? FROM run WHERE id = ?",
        event.time_ms != 0 ? event.time_ms : now_ms(), event.level, event.kind, event.text,
        event.run)
      .run();
}

void Store::record_event(const EventRow& event) {
  connection_->write("record an event in", Connection::Durability::written,
                     [&] { insert_event(*connection_, event); });
}

std::vector<EventRow> Store::events(int64_t run) const {
  return connection_->guarded("read", [&] {
    return Query(*connection_,
                 "SELECT run, time_ms, level, kind, text, attempt FROM event WHERE run = ? "
                 "ORDER BY id",
                 run)
        .rows([](Query& row) {
          return EventRow{row.integer(0), row.integer(1), row.text(2),
                          row.text(3),    row.text(4),    row.integer(5)};
        });
  });
}

}  // namespace exprun
