// Inserting runs and reading them back.
#include "base/clock.h"
#include "store/attempts.h"
#include "store/blobs.h"
#include "store/parameters.h"
#include "store/run_row.h"
#include "store/store_impl.h"
#include "store/tags.h"

namespace exprun {
namespace {

constexpr int64_t kFirstAttempt = 1;

int64_t insert_run(Connection& connection, const NewRun& run, int64_t now) {
  Query(connection,
        "INSERT INTO run (uid, name, recipe_hash, seed, steps, folder, working_directory, "
        "command_line, data_fingerprint, started_ms, attempt, sweep, trial) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        run.uid, run.name, run.recipe_hash, run.seed, run.steps, run.folder, run.working_directory,
        run.command_line, run.data_fingerprint, now, kFirstAttempt, run.sweep_id, run.trial)
      .run();
  return connection.database().getLastInsertRowid();
}

}  // namespace

int64_t Store::create_run(const NewRun& run) {
  Connection& connection = *impl_->connection;
  return connection.write("record the run in", Connection::Durability::synced, [&] {
    const int64_t now = now_ms();
    const int64_t id = insert_run(connection, run, now);
    insert_attempt(connection, id, kFirstAttempt, 0, run.provenance, now);
    keep_run_blob(connection, id, "recipe", run.recipe_json);
    keep_run_blob(connection, id, "resolved", run.resolved_toml);
    insert_parameters(connection, id, run.parameters);
    for (const std::string& tag : run.tags) insert_tag(connection, id, tag);
    return id;
  });
}

std::optional<RunRow> Store::run(int64_t id) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&]() -> std::optional<RunRow> {
    auto rows = select_runs(connection, "WHERE run = ?", id);
    if (rows.empty()) return std::nullopt;
    return std::move(rows.front());
  });
}

std::vector<RunRow> Store::runs(const std::string& name, const std::string& recipe_hash) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    return select_runs(connection,
                       "WHERE removed_ms IS NULL AND (?1 = '' OR name = ?1) "
                       "AND (?2 = '' OR recipe_hash = ?2) "
                       "ORDER BY run DESC",
                       name, recipe_hash);
  });
}

std::vector<RunRow> Store::removed_runs() const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    return select_runs(connection, "WHERE removed_ms IS NOT NULL ORDER BY run DESC");
  });
}

void Store::record_libraries(int64_t run, int64_t attempt, const std::string& json) {
  Connection& connection = *impl_->connection;
  connection.write("record the libraries of a run in", Connection::Durability::written,
                   [&] { keep_attempt_blob(connection, run, attempt, "libraries", json); });
}

std::string Store::attempt_text(int64_t run, int64_t attempt, const std::string& kind) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] { return attempt_blob(connection, run, attempt, kind); });
}

std::string Store::recipe_json(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] { return run_blob(connection, run, "recipe"); });
}

std::string Store::resolved_toml(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] { return run_blob(connection, run, "resolved"); });
}

std::vector<ParameterRow> Store::parameters(int64_t run) const {
  return parameters(std::vector{run})[run];
}

std::map<int64_t, std::vector<ParameterRow>> Store::parameters(
    const std::vector<int64_t>& runs) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] { return read_parameters(connection, runs); });
}

std::map<int64_t, std::string> Store::parameter_by_run(const std::string& path) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] { return read_parameter(connection, path); });
}

std::vector<std::string> Store::parameter_paths() const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] { return read_parameter_paths(connection); });
}

}  // namespace exprun
