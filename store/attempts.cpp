// Attempts: how a run's lives begin and end.
#include "store/attempts.h"

#include "store/clock.h"
#include "store/process_identity.h"
#include "store/run_state.h"
#include "store/store_impl.h"

namespace exprun {
namespace {

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
  return row;
}

}  // namespace

void insert_attempt(Connection& connection, int64_t run, int64_t attempt, int64_t from_step,
                    int64_t now) {
  const ProcessIdentity process = this_process();
  Query(
      connection,
      "INSERT INTO attempt (run, attempt, from_step, last_step, state, started_ms, last_beat_ms, "
      "host, boot_id, pid, pid_started) VALUES (?1, ?2, ?3, ?3, 'running', ?4, ?4, ?5, ?6, ?7, ?8)",
      run, attempt, from_step, now, process.host, process.boot_id, process.pid, process.pid_started)
      .run();
}

bool end_as_crashed(Connection& connection, int64_t run, int64_t attempt) {
  return Query(connection,
               "UPDATE attempt SET state = 'crashed', ended_ms = last_beat_ms, "
               "message = 'its process ended without recording why' "
               "WHERE run = ? AND attempt = ? AND state = 'running'",
               run, attempt)
             .run() == 1;
}

int64_t Store::begin_attempt(int64_t run, int64_t from_step) {
  Connection& connection = *impl_->connection;
  return connection.write("record an attempt in", Connection::Durability::synced, [&] {
    const int64_t before = current_attempt(connection, run);
    end_as_crashed(connection, run, before);
    archive_after(connection, run, from_step);
    insert_attempt(connection, run, before + 1, from_step, now_ms());
    Query(connection, "UPDATE run SET attempt = ? WHERE id = ?", before + 1, run).run();
    return before + 1;
  });
}

// A crash may have been recorded by somebody who saw the lock free for a moment; what the launcher
// saw is the truth, so it replaces any earlier end.
void Store::end_attempt(int64_t run, RunState state, std::optional<int> exit_code,
                        std::optional<int> signal, const std::string& message) {
  Connection& connection = *impl_->connection;
  connection.write("record the end of a run in", Connection::Durability::synced, [&] {
    Query(connection,
          "UPDATE attempt SET state = ?3, ended_ms = max(?4, last_beat_ms), "
          "last_beat_ms = max(?4, last_beat_ms), exit_code = ?5, "
          "signal = ?6, message = ?7 WHERE run = ?1 AND attempt = ?2",
          run, current_attempt(connection, run), to_string(state), now_ms(), exit_code, signal,
          message)
        .run();
  });
}

bool Store::settle_crashed(const RunRow& row) {
  Connection& connection = *impl_->connection;
  if (observed_state(row, connection.file().parent_path()) != RunState::crashed) return false;
  return connection.write("record a crash in", Connection::Durability::synced, [&] {
    return current_attempt(connection, row.id) == row.attempt &&
           end_as_crashed(connection, row.id, row.attempt);
  });
}

std::vector<AttemptRow> Store::attempts(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::vector<AttemptRow> rows;
    Query query(connection,
                "SELECT run, attempt, from_step, last_step, state, started_ms, ended_ms, "
                "exit_code, signal, message FROM attempt WHERE run = ? ORDER BY attempt",
                run);
    while (query.step()) rows.push_back(read_attempt(query));
    return rows;
  });
}

}  // namespace exprun
