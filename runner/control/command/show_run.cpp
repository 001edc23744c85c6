#include "control/command/show_run.h"

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "control/command/stored_runs.h"
#include "control/report/attempts_table.h"
#include "control/report/run_comments.h"
#include "control/report/run_json.h"
#include "control/report/terminal.h"
#include "recipe/load.h"
#include "recipe/value_json.h"
#include "store/run_state.h"

namespace exprun {
namespace {

nlohmann::ordered_json object_of(const std::string& text) {
  auto json = parse_json_or_discard<nlohmann::ordered_json>(text);
  return json.is_object() ? json : nlohmann::ordered_json::object();
}

// The last of them ends as its run is seen to have ended, which nobody may have recorded.
std::vector<AttemptRow> observed_attempts(const Store& store, const RunRow& run) {
  auto attempts = store.attempts(run.id);
  for (AttemptRow& row : attempts) {
    if (row.attempt != run.attempt || row.state == to_string(run.state)) continue;
    row.state = to_string(run.state);
    row.ended_ms = run.ended_ms.value_or(run.last_beat_ms);
    row.exit_code = run.exit_code;
    row.signal = run.signal;
    row.message = run.message;
  }
  return attempts;
}

RunDetails details_of(const Store& store, const RunRow& run, const StoreFolder& folder) {
  return {run,
          (folder.shown / run.folder).string(),
          object_of(store.attempt_text(run.id, run.attempt, "environment")),
          object_of(store.attempt_text(run.id, run.attempt, "libraries")),
          observed_attempts(store, run),
          store.series(run.id),
          store.checkpoints(run.id),
          store.events(run.id),
          store.notes(run.id),
          store.resolved_toml(run.id)};
}

// As it was resolved then: another exprun's may have keys that this one does not know.
Table recorded_recipe(const RunDetails& details) {
  Diagnostics diagnostics;
  auto file = load_file(
      std::make_shared<SourceFile>(SourceFile{details.folder, details.resolved_toml}), diagnostics);
  if (!file) throw RecipeError(std::move(diagnostics));
  return std::move(file->root);
}

}  // namespace

void show_run(const std::string& reference, const ShowRunOptions& options, const Globals& globals) {
  if (options.json && (options.attempts || options.diff))
    throw Error("show: give one of --json, --attempts and --git-diff", ExitCode::bad_recipe);
  const Store store = open_store(globals.store);
  const RunRow run = find_run(store, globals.store, reference);
  if (options.diff) return print(store.attempt_text(run.id, run.attempt, "diff"));
  const RunDetails details = details_of(store, run, globals.store);
  if (options.attempts) return print(to_plain(attempts_table(details.attempts), {}));
  if (options.json) {
    auto json = details_as_json(details);
    json["hash"] = run.recipe_hash;
    json["recipe"] = to_json(recorded_recipe(details));
    return print(json_text(json, 2) + '\n');
  }
  print(details_as_comments(details) + '\n' + details.resolved_toml);
}

}  // namespace exprun
