// The rows of the store as plain structs. Persisted names of states never change.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/database/connection.h"

namespace exprun {

// A run is running or ends in exactly one of the others.
enum class RunState {
  running,
  finished,
  diverged,
  failed,
  interrupted,
  preempted,
  killed,
  crashed,
  pruned
};

const char* to_string(RunState state);
RunState run_state(const std::string& name);  // throws std::logic_error

// A key of the resolved recipe.
struct ParameterRow {
  std::string path;     // dotted
  std::string toml;     // its value as TOML text
  bool changed = true;  // it tells runs apart and is not at its default

  friend bool operator==(const ParameterRow&, const ParameterRow&) = default;
};

// The code and the machine that an attempt began with.
struct Provenance {
  std::string version;                    // of exprun
  std::optional<std::string> git_commit;  // of the working directory; none outside a repository
  std::optional<bool> git_dirty;          // whether files differed from the commit
  std::string environment_json;           // machine, GPUs, scheduler, environment, command line
  std::string git_diff;                   // what differed; may be cut
};

struct NewRun {
  std::string uid;   // 32 hex digits, made by the launcher
  std::string name;  // run.name
  std::string recipe_hash;
  std::string recipe_json;    // RecipeText::to_json: stored as a blob
  std::string resolved_toml;  // ResolvedRecipe::to_toml: stored as a blob
  std::string folder;         // below the store's folder: "quickstart-1a2b3c4d"
  std::string working_directory;
  std::string command_line;
  std::string data_fingerprint;
  int64_t seed = 0;
  int64_t steps = 0;  // the length of the run
  std::vector<ParameterRow> parameters;
  std::optional<int64_t> sweep_id;
  std::optional<int64_t> trial;
  std::vector<std::string> tags;
  Provenance provenance;
  int64_t from_step = 0;  // of a fork: steps that its origin had completed
  std::string origin;     // of a fork, as JSON; empty otherwise
};

// What a run becomes that trains on with another recipe.
struct ChangedRecipe {
  std::string recipe_hash, recipe_json, resolved_toml;
  int64_t steps = 0;
  std::vector<ParameterRow> parameters;
};

struct RunRow {
  int64_t id = 0;
  std::string uid, name, recipe_hash, folder, working_directory, command_line, data_fingerprint;
  RunState state = RunState::running;  // as recorded; a free lock makes "running" a crash
  int64_t seed = 0, steps = 0;
  int64_t last_step = 0;            // newest completed step recorded
  int64_t attempt = 1;              // the current or last attempt
  int64_t from_step = 0;            // where that began
  int64_t started_ms = 0;           // Unix milliseconds of the first attempt
  std::optional<int64_t> ended_ms;  // of the last attempt
  double seconds = 0;               // over all attempts
  std::optional<int> exit_code, signal;
  std::string message;  // why it ended, for people
  std::string host;
  std::string boot_id;
  std::string machine_id;
  int64_t pid = 0;
  int64_t pid_started = 0;  // as ProcessIdentity's
  std::optional<int64_t> sweep_id, trial;
  int64_t last_beat_ms = 0;  // when its trainer last said that it lives
  std::string tags;          // joined by commas
  std::string version;       // of exprun, that of the last attempt
  std::optional<std::string> git_commit;
  std::optional<bool> git_dirty;
  std::optional<int64_t> removed_ms;  // when it was removed; none otherwise
  std::string origin;                 // of a fork, as JSON; empty otherwise
};

// Finished before its last step, as run.early_stop has it.
bool ended_early(const RunRow& run);

// The name of its state, for people: "finished early" too.
const char* state_text(const RunRow& run);

// The checkpoint that a fork began with, of RunRow::origin; nothing for a run that is no fork.
struct RunOrigin {
  std::string uid, folder;  // of the run that it is of
  int64_t step = 0;
  bool fresh_optimizer = false;  // only its weights were taken
};
std::optional<RunOrigin> origin_of(const RunRow& run);

// "step 40 of quickstart-1a2b3c4d", of RunRow::origin, with "(fresh optimizer)" if it took only the
// weights; empty for a run that is no fork.
std::string describe_origin(const std::string& origin);
int64_t origin_step(const std::string& origin);  // 40; 0 for a run that is no fork

struct AttemptRow {
  int64_t run = 0, attempt = 0, from_step = 0, started_ms = 0;
  std::optional<int64_t> ended_ms;
  std::string state, message;
  int64_t last_step = 0;  // newest completed step that it recorded
  std::optional<int> exit_code, signal;
  std::string host, version;
  std::optional<std::string> git_commit;
  std::optional<bool> git_dirty;
  std::string recipe_hash;  // of the recipe that it ran
};

// One summary row a series: reports never scan the metrics.
struct SeriesRow {
  int64_t id = 0, run = 0;
  std::string name;
  bool timing = false;  // durations and throughput: differ from attempt to attempt
  int64_t count = 0, non_finite = 0;
  double last = 0, min = 0, max = 0;  // min and max of the finite values; NaN without any
  int64_t last_step = 0, min_step = 0, max_step = 0;
  std::optional<int64_t> first_non_finite_step;
};

struct MetricRow {
  int64_t step = 0;
  double value = 0;     // NaN and infinities are kept
  int64_t time_ms = 0;  // since the run's first start
};

// A value with everything that tells it apart.
struct ValueRow {
  std::string name;
  int64_t attempt = 0;  // that a later one has overtaken; 0 for a live value
  int64_t step = 0;
  double value = 0;
  double seconds = 0;  // since the run's first start
};

struct CheckpointRow {
  int64_t run = 0, step = 0, attempt = 0, bytes = 0, written_ms = 0;
  std::string folder;  // below the run's folder
};

struct EventRow {
  int64_t run = 0, time_ms = 0;
  std::string level, kind, text;  // level: info, warning, error
  int64_t attempt = 0;            // filled in by the store; time_ms too, when 0
};

// It has no state of its own: that follows from its trials.
struct SweepRow {
  int64_t id = 0;
  std::string uid, name, space_json;
  int64_t started_ms = 0;
};

// A point of a sweep: its run when it has one.
struct TrialRow {
  int64_t trial = 0;
  std::string recipe_hash;
  std::string changes;  // "lr=0.001 num_layers=4"
  std::optional<int64_t> run;
  std::string problem = {};  // why it could not begin when it was last tried; empty if it could
  bool purged = false;       // it had a run, which was removed and purged
};

struct NoteRow {
  int64_t time_ms = 0;
  std::string text;
};

// Reading rows of the view `all_runs`.

// The row of a statement that begins with kSelectRuns.
RunRow read_run(Query& query);

extern const std::string kSelectRuns;  // "SELECT <columns of RunRow> FROM all_runs "

// All runs of that statement with this tail: "WHERE ...", "ORDER BY ...".
template <typename... Values>
std::vector<RunRow> select_runs(Connection& connection, std::string_view tail,
                                const Values&... values) {
  return Query(connection, kSelectRuns + std::string(tail), values...).rows(read_run);
}

}  // namespace exprun
