#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/format_units.h"
#include "base/hash.h"
#include "base/suggest.h"
#include "store/annotations.h"
#include "store/attempts.h"
#include "store/blobs.h"
#include "store/database/connection.h"
#include "store/rows.h"
#include "store/store.h"
#include "store/sweeps.h"

namespace exprun {
namespace {

// The resolved recipe of a run as rows: dotted path, TOML text, and its value for SQL.

bool is_plain_string(const std::string& toml) {
  return toml.size() >= 2 && toml.front() == '"' && toml.find('"', 1) == toml.size() - 1 &&
         toml.find('\\') == std::string::npos;
}

// Numbers become numbers, so that SQL can compare them; strings lose their quotes.
void insert(Connection& connection, int64_t run, const ParameterRow& parameter) {
  const auto& [path, toml, changed] = parameter;
  constexpr const char* kInsert =
      "INSERT INTO parameter (run, key, toml, changed, value) "
      "VALUES (?, (SELECT id FROM parameter_key WHERE path = ?), ?, ?, ?)";
  const int64_t flag = changed;
  if (const auto integer = parse_number<int64_t>(toml)) {
    Query(connection, kInsert, run, path, toml, flag, *integer).run();
  } else if (const auto real = parse_number<double>(toml)) {
    Query(connection, kInsert, run, path, toml, flag, *real).run();
  } else {
    const std::string text = is_plain_string(toml) ? toml.substr(1, toml.size() - 2) : toml;
    Query(connection, kInsert, run, path, toml, flag, text).run();
  }
}

std::string json_array(const std::vector<int64_t>& numbers) {
  std::string text = "[";
  for (const int64_t number : numbers)
    text += (text.size() > 1 ? "," : "") + std::to_string(number);
  return text + "]";
}

void insert_parameters(Connection& connection, int64_t run,
                       const std::vector<ParameterRow>& parameters) {
  for (const ParameterRow& parameter : parameters) {
    Query(connection, "INSERT INTO parameter_key (path) VALUES (?) ON CONFLICT DO NOTHING",
          parameter.path)
        .run();
    insert(connection, run, parameter);
  }
}

}  // namespace

// What the attempts so far ran is kept as theirs, with the last of them.
void change_recipe(Connection& connection, int64_t run, int64_t last_attempt,
                   const ChangedRecipe& changed) {
  for (const char* kind : {"recipe", "resolved"})
    keep_attempt_blob(connection, run, last_attempt, kind, run_blob(connection, run, kind));
  Query hash(connection, "SELECT recipe_hash FROM run WHERE id = ?", run);
  hash.step();
  keep_attempt_blob(connection, run, last_attempt, "recipe_hash", hash.text(0));
  Query(connection, "UPDATE run SET recipe_hash = ?, steps = ? WHERE id = ?", changed.recipe_hash,
        changed.steps, run)
      .run();
  keep_run_blob(connection, run, "recipe", changed.recipe_json);
  keep_run_blob(connection, run, "resolved", changed.resolved_toml);
  Query(connection, "DELETE FROM parameter WHERE run = ?", run).run();
  insert_parameters(connection, run, changed.parameters);
}

namespace {

std::map<int64_t, std::vector<ParameterRow>> read_parameters(Connection& connection,
                                                             const std::vector<int64_t>& runs) {
  std::map<int64_t, std::vector<ParameterRow>> parameters;
  Query query(connection,
              "SELECT run, path, toml, changed FROM parameters "
              "WHERE run IN (SELECT value FROM json_each(?))",
              json_array(runs));
  while (query.step())
    parameters[query.integer(0)].push_back({query.text(1), query.text(2), query.integer(3) != 0});
  for (auto& [run, rows] : parameters)
    std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.path < b.path; });
  return parameters;
}

// Runs first, so that each is one look into the key of `parameter`.
std::map<int64_t, std::string> read_parameter(Connection& connection, const std::string& path) {
  std::map<int64_t, std::string> values;
  Query query(connection,
              "SELECT r.id, p.toml FROM run AS r CROSS JOIN parameter AS p ON p.run = r.id "
              "WHERE p.key = (SELECT id FROM parameter_key WHERE path = ?)",
              path);
  while (query.step()) values.emplace(query.integer(0), query.text(1));
  return values;
}

// Inserting runs and reading them back.

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
  return connection_->write("record the run in", Connection::Durability::synced, [&] {
    const int64_t now = now_ms();
    const int64_t id = insert_run(*connection_, run, now);
    insert_attempt(*connection_, id, kFirstAttempt, run.from_step, run.provenance, now);
    keep_run_blob(*connection_, id, "recipe", run.recipe_json);
    keep_run_blob(*connection_, id, "resolved", run.resolved_toml);
    if (!run.origin.empty()) keep_run_blob(*connection_, id, "origin", run.origin);
    insert_parameters(*connection_, id, run.parameters);
    if (run.sweep_id && run.trial) set_trial_run(*connection_, *run.sweep_id, *run.trial, id);
    for (const std::string& tag : run.tags) insert_tag(*connection_, id, tag);
    return id;
  });
}

std::optional<RunRow> Store::run(int64_t id) const {
  return connection_->guarded("read", [&]() -> std::optional<RunRow> {
    auto rows = select_runs(*connection_, "WHERE run = ?", id);
    if (rows.empty()) return std::nullopt;
    return std::move(rows.front());
  });
}

namespace {

// By their start, not by their ids: runs that were merged into this store may be older than its
// own. Small keys are sorted, because rows are wide: SQLite, or moving them about, takes far
// longer.
std::vector<RunRow> newest_first(std::vector<RunRow> runs) {
  std::vector<std::tuple<int64_t, int64_t, size_t>> keys;
  keys.reserve(runs.size());
  for (size_t i = 0; i < runs.size(); ++i) keys.emplace_back(runs[i].started_ms, runs[i].id, i);
  std::ranges::sort(keys, std::greater());
  std::vector<RunRow> sorted;
  sorted.reserve(runs.size());
  for (const auto& key : keys) sorted.push_back(std::move(runs[std::get<2>(key)]));
  return sorted;
}

}  // namespace

std::vector<RunRow> Store::runs(const std::string& name, const std::string& recipe_hash) const {
  return connection_->guarded("read", [&] {
    const std::string there = "WHERE removed_ms IS NULL ";
    const auto selected = [&](const std::string& tail, const auto&... values) {
      return newest_first(select_runs(*connection_, there + tail, values...));
    };
    // One text for all, "? = '' OR name = ?", would have every run read: no index serves it.
    if (name.empty() && recipe_hash.empty()) return selected("");
    if (name.empty()) return selected("AND recipe_hash = ?", recipe_hash);
    if (recipe_hash.empty()) return selected("AND name = ?", name);
    return selected("AND name = ? AND recipe_hash = ?", name, recipe_hash);
  });
}

std::vector<RunRow> Store::extended_runs(const std::string& name,
                                         const std::string& recipe_hash) const {
  return connection_->guarded("read", [&] {
    return newest_first(select_runs(
        *connection_,
        "WHERE removed_ms IS NULL AND name = ? AND EXISTS (SELECT 1 FROM attempt_blob AS l "
        "WHERE l.run = all_runs.run AND l.kind = 'recipe_hash' "
        "AND l.blob = (SELECT id FROM blob WHERE hash = ?))",
        name, hash_hex(recipe_hash)));
  });
}

std::vector<RunRow> Store::removed_runs() const {
  return connection_->guarded("read", [&] {
    return newest_first(select_runs(*connection_, "WHERE removed_ms IS NOT NULL"));
  });
}

void Store::record_libraries(int64_t run, int64_t attempt, const std::string& json) {
  connection_->write("record the libraries of a run in", Connection::Durability::written,
                     [&] { keep_attempt_blob(*connection_, run, attempt, "libraries", json); });
}

std::string Store::attempt_text(int64_t run, int64_t attempt, const std::string& kind) const {
  return connection_->guarded("read",
                              [&] { return attempt_blob(*connection_, run, attempt, kind); });
}

std::string Store::recipe_json(int64_t run) const {
  return connection_->guarded("read", [&] { return run_blob(*connection_, run, "recipe"); });
}

std::string Store::resolved_toml(int64_t run) const {
  return connection_->guarded("read", [&] { return run_blob(*connection_, run, "resolved"); });
}

std::vector<ParameterRow> Store::parameters(int64_t run) const {
  return parameters(std::vector{run})[run];
}

std::map<int64_t, std::vector<ParameterRow>> Store::parameters(
    const std::vector<int64_t>& runs) const {
  return connection_->guarded("read", [&] { return read_parameters(*connection_, runs); });
}

std::map<int64_t, std::string> Store::parameter_by_run(const std::string& path) const {
  return connection_->guarded("read", [&] { return read_parameter(*connection_, path); });
}

std::vector<std::string> Store::parameter_paths() const {
  return connection_->guarded("read", [&] {
    return Query(*connection_, "SELECT path FROM parameter_key ORDER BY path").texts();
  });
}

std::vector<std::string> Store::changed_parameter_paths(const std::vector<int64_t>& runs) const {
  return connection_->guarded("read", [&] {
    return Query(*connection_,
                 "SELECT path FROM parameter_key AS k WHERE EXISTS "
                 "(SELECT 1 FROM parameter AS p WHERE p.key = k.id AND p.changed = 1 "
                 "AND p.run IN (SELECT value FROM json_each(?))) ORDER BY path",
                 json_array(runs))
        .texts();
  });
}

std::set<int64_t> Store::runs_that_changed(const std::string& path) const {
  return connection_->guarded("read", [&] {
    std::set<int64_t> runs;
    Query query(*connection_,
                "SELECT run FROM parameter WHERE changed = 1 AND key = (SELECT id FROM "
                "parameter_key WHERE path = ?)",
                path);
    while (query.step()) runs.insert(runs.end(), query.integer(0));
    return runs;
  });
}

namespace {

// From what a person types to a run.

constexpr size_t kShortestPrefix = 4;
constexpr size_t kShownChoices = 8;

std::string which(Store::Among among) {
  return among == Store::Among::kept ? "WHERE removed_ms IS NULL "
                                     : "WHERE removed_ms IS NOT NULL ";
}

// The first of newest_first().
std::string newest_run(const std::string& where) {
  return "(SELECT id FROM run " + where + "ORDER BY started_ms DESC, id DESC LIMIT 1)";
}

// What "@best" compares runs by.
struct Goal {
  std::string metric = "val/loss";
  bool maximize = false;
};

Goal newest_goal(Connection& connection) {
  Goal goal;
  Query query(connection,
              "SELECT k.path, p.value FROM parameter AS p JOIN parameter_key AS k ON k.id = p.key "
              "WHERE p.run = " +
                  newest_run(which(Store::Among::kept)) +
                  "AND k.path IN ('run.best_metric', 'run.best_goal')");
  while (query.step()) {
    if (query.text(0) == "run.best_metric")
      goal.metric = query.text(1);
    else
      goal.maximize = query.text(1) == "maximize";
  }
  return goal;
}

std::vector<int64_t> ids_best_first(Connection& connection) {
  const Goal goal = newest_goal(connection);
  const std::string value = goal.maximize ? "s.max" : "s.min";
  return Query(
             connection,
             "SELECT s.run FROM series AS s JOIN run AS r ON r.id = s.run AND r.removed_ms IS NULL "
             "WHERE s.name = ? AND " +
                 value + " IS NOT NULL ORDER BY " + value + (goal.maximize ? " DESC" : "") +
                 ", s.run",
             goal.metric)
      .integers();
}

std::vector<RunRow> best_run(Connection& connection, const std::string& where) {
  const std::vector<int64_t> ids = ids_best_first(connection);
  if (ids.empty()) return {};
  return select_runs(connection, where + "AND run = ?", ids.front());
}

// Many runs may have a name, and who wants the newest of them need not read the others.
enum class OfName { all, newest };

// An id, as `ls` lists it, comes before a name that is a number.
std::vector<RunRow> exact(Connection& connection, const std::string& reference,
                          const std::string& where, OfName of_name) {
  if (reference == "@last")
    return select_runs(connection, where + "AND run = " + newest_run(where));
  if (reference == "@best") return best_run(connection, where);
  if (const auto id = parse_number<int64_t>(reference)) {
    auto rows = select_runs(connection, where + "AND run = ?", *id);
    if (!rows.empty()) return rows;
  }
  auto rows = select_runs(connection, where + "AND (uid = ?1 OR folder = ?1)", reference);
  if (!rows.empty()) return rows;
  const std::string named = where + "AND name = ? ";
  if (of_name == OfName::newest)
    return select_runs(connection, "WHERE run = " + newest_run(named), reference);
  return newest_first(select_runs(connection, named, reference));
}

std::vector<RunRow> with_prefix(Connection& connection, const std::string& prefix,
                                const std::string& where) {
  if (prefix.size() < kShortestPrefix) return {};
  return newest_first(select_runs(connection,
                                  where + "AND (substr(uid, 1, length(?1)) = ?1 OR "
                                          "substr(folder, 1, length(?1)) = ?1)",
                                  prefix));
}

std::vector<RunRow> matching(Connection& connection, const std::string& reference,
                             Store::Among among) {
  auto rows = exact(connection, reference, which(among), OfName::newest);
  return rows.empty() ? with_prefix(connection, reference, which(among)) : rows;
}

std::string list(const std::vector<RunRow>& rows) {
  std::string text;
  for (size_t i = 0; i < std::min(rows.size(), kShownChoices); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(rows[i].id) + " (" + rows[i].name + ", " +
            rows[i].uid.substr(0, 12) + ")";
  }
  return rows.size() > kShownChoices ? text + ", ..." : text;
}

std::string advice(Connection& connection, const std::string& reference, Store::Among among) {
  if (among == Store::Among::removed) return "; `exprun ls --removed` lists those";
  if (reference == "@best")
    return "; no run has a finite " + newest_goal(connection).metric + " yet";
  const auto removed = matching(connection, reference, Store::Among::removed);
  if (!removed.empty())
    return "; it was removed: `exprun restore " + removed.front().folder + "` brings it back";
  auto names = Query(connection,
                     "SELECT name FROM run WHERE removed_ms IS NULL GROUP BY name "
                     "ORDER BY max(started_ms) DESC, max(id) DESC")
                   .texts();
  if (names.empty()) return "; it has no runs yet";
  names.insert(names.end(), {"@last", "@best"});
  const auto nearest_name = nearest(reference, names);
  return nearest_name ? "; did you mean '" + *nearest_name + "'?" : "; `exprun ls` lists its runs";
}

std::vector<RunRow> meant_by(Connection& connection, const std::string& reference,
                             Store::Among among, OfName of_name) {
  std::vector<RunRow> rows = exact(connection, reference, which(among), of_name);
  if (!rows.empty()) return rows;
  rows = with_prefix(connection, reference, which(among));
  if (rows.size() == 1) return rows;
  if (rows.empty())
    throw Error((among == Store::Among::removed ? "store: no removed run '" : "store: no run '") +
                    reference + "' in '" + connection.file().string() + "'" +
                    advice(connection, reference, among),
                ExitCode::no_such_run);
  throw Error("store: '" + reference + "' could mean several runs: " + list(rows),
              ExitCode::no_such_run);
}

}  // namespace

std::vector<int64_t> Store::runs_best_first() const {
  return connection_->guarded("read", [&] { return ids_best_first(*connection_); });
}

std::vector<RunRow> Store::runs_meant_by(const std::string& reference, Among among) const {
  return connection_->guarded(
      "read", [&] { return meant_by(*connection_, reference, among, OfName::all); });
}

RunRow Store::find_run(const std::string& reference, Among among) const {
  return connection_->guarded("read", [&] {
    return std::move(meant_by(*connection_, reference, among, OfName::newest).front());
  });
}

}  // namespace exprun
