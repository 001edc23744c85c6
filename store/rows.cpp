#include "store/rows.h"

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/format_units.h"
#include "base/json_text.h"

namespace exprun {
namespace {

// In the order of RunState.
constexpr std::array<const char*, 9> kStateNames = {"running", "finished",    "diverged",
                                                    "failed",  "interrupted", "preempted",
                                                    "killed",  "crashed",     "pruned"};

}  // namespace

const char* to_string(RunState state) {
  return kStateNames.at(static_cast<size_t>(state));
}

RunState run_state(const std::string& name) {
  for (size_t i = 0; i < kStateNames.size(); ++i) {
    if (name == kStateNames[i]) return static_cast<RunState>(i);
  }
  throw std::logic_error("store: no run state is called '" + name + "'");
}

bool ended_early(const RunRow& run) {
  return run.state == RunState::finished && run.last_step < run.steps;
}

const char* state_text(const RunRow& run) {
  return ended_early(run) ? "finished early" : to_string(run.state);
}

namespace {

std::optional<int> optional_int(Query& query, int column) {
  if (query.is_null(column)) return std::nullopt;
  return static_cast<int>(query.integer(column));
}

}  // namespace

const std::string kSelectRuns =
    "SELECT run, uid, name, recipe_hash, folder, working_directory, command_line, "
    "data_fingerprint, state, seed, steps, last_step, attempt, started_ms, last_beat_ms, ended_ms, "
    "seconds, exit_code, signal, message, host, boot_id, machine_id, pid, sweep, trial, "
    "coalesce(tags, ''), "
    "version, git_commit, git_dirty, removed_ms, "
    "(SELECT from_step FROM attempt AS a WHERE a.run = all_runs.run AND a.attempt = "
    "all_runs.attempt), "
    "(SELECT pid_started FROM attempt AS a WHERE a.run = all_runs.run AND a.attempt = "
    "all_runs.attempt), "
    "coalesce((SELECT b.content FROM run_blob AS l JOIN blob AS b ON b.id = l.blob "
    "WHERE l.run = all_runs.run AND l.kind = 'origin'), '') FROM all_runs ";

RunRow read_run(Query& query) {
  RunRow row;
  int column = 0;
  row.id = query.integer(column++);
  for (std::string* text : {&row.uid, &row.name, &row.recipe_hash, &row.folder,
                            &row.working_directory, &row.command_line, &row.data_fingerprint}) {
    *text = query.text(column++);
  }
  row.state = run_state(query.text(column++));
  for (int64_t* number :
       {&row.seed, &row.steps, &row.last_step, &row.attempt, &row.started_ms, &row.last_beat_ms}) {
    *number = query.integer(column++);
  }
  row.ended_ms = query.optional_integer(column++);
  row.seconds = query.real(column++);
  row.exit_code = optional_int(query, column++);
  row.signal = optional_int(query, column++);
  for (std::string* text : {&row.message, &row.host, &row.boot_id, &row.machine_id})
    *text = query.text(column++);
  row.pid = query.integer(column++);
  row.sweep_id = query.optional_integer(column++);
  row.trial = query.optional_integer(column++);
  for (std::string* text : {&row.tags, &row.version}) *text = query.text(column++);
  row.git_commit = query.optional_text(column++);
  row.git_dirty = query.optional_flag(column++);
  row.removed_ms = query.optional_integer(column++);
  row.from_step = query.integer(column++);
  row.pid_started = query.integer(column++);
  row.origin = query.text(column++);
  return row;
}

namespace {

std::optional<RunOrigin> parsed_origin(const std::string& text) {
  const auto json = parse_json_or_discard<nlohmann::json>(text);
  if (!json.is_object()) return std::nullopt;
  return RunOrigin{json.at("run"), json.at("folder"), json.at("step"), json.at("fresh_optimizer")};
}

}  // namespace

std::optional<RunOrigin> origin_of(const RunRow& run) {
  return parsed_origin(run.origin);
}

std::string describe_origin(const std::string& text) {
  const auto origin = parsed_origin(text);
  if (!origin) return "";
  return "step " + with_thousands(origin->step) + " of " + origin->folder +
         (origin->fresh_optimizer ? " (fresh optimizer)" : "");
}

int64_t origin_step(const std::string& text) {
  const auto origin = parsed_origin(text);
  return origin ? origin->step : 0;
}

}  // namespace exprun
