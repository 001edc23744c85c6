#include "control/launch/run/which_run.h"

#include <algorithm>

#include "base/clock.h"
#include "control/launch/launch.h"
#include "control/launch/run/new_run.h"
#include "store/run_state.h"

namespace exprun {
namespace {

// A rank, a device or the data was not there: nothing is lost by another attempt.
bool failed_before_it_trained(const RunRow& run) {
  return run.state == RunState::failed && run.last_step == run.from_step;
}

Decision decision_for(const RunRow& run) {
  if (failed_before_it_trained(run)) return Decision::continue_run;
  switch (run.state) {
    case RunState::running:
      return Decision::refuse_running;
    case RunState::finished:
      return Decision::show_result;
    case RunState::interrupted:
    case RunState::preempted:
    case RunState::killed:
    case RunState::crashed:
      return Decision::continue_run;
    case RunState::failed:
    case RunState::diverged:
    case RunState::pruned:
      break;
  }
  return Decision::refuse_ended;
}

}  // namespace

bool needs_a_trainer(Decision decision) {
  return decision == Decision::start_new || decision == Decision::continue_run;
}

WhichRun which_run(const std::vector<RunRow>& same, bool always_new) {
  if (always_new || same.empty()) return {};
  return {decision_for(same.front()), same.front()};
}

namespace {

constexpr size_t kMostNamed = 4;
using Parameters = std::vector<ParameterRow>;

std::string value_in(const Parameters& parameters, const std::string& path) {
  for (const ParameterRow& parameter : parameters)
    if (parameter.path == path) return parameter.toml;
  return "not set";
}

std::vector<std::string> changed_in_either(const Parameters& now, const Parameters& before) {
  std::vector<std::string> paths;
  for (const Parameters* parameters : {&now, &before})
    for (const auto& [path, toml, changed] : *parameters)
      if (changed && std::find(paths.begin(), paths.end(), path) == paths.end())
        paths.push_back(path);
  return paths;
}

}  // namespace

std::string differing_parameters(const Parameters& now, const Parameters& before) {
  std::string text;
  size_t different = 0;
  for (const std::string& path : changed_in_either(now, before)) {
    const std::string value = value_in(now, path), old = value_in(before, path);
    if (value == old || ++different > kMostNamed) continue;
    text += (text.empty() ? "" : ", ") + path + ": " + value + " (was " + old + ")";
  }
  if (different > kMostNamed) text += " and " + std::to_string(different - kMostNamed) + " more";
  return text;
}

std::string describe_difference(const Parameters& now, const Parameters& before,
                                const std::string& run) {
  const std::string text = differing_parameters(now, before);
  if (text.empty()) return "new run, with the same settings as " + run;
  return "new run; differs from " + run + ": " + text;
}

std::string difference_from_newest(const Store& store, const ResolvedRecipe& resolved) {
  const auto runs = store.runs(resolved.section("run").get<std::string>("name"));
  if (runs.empty()) return "";
  return describe_difference(parameter_rows(resolved), store.parameters(runs.front().id),
                             runs.front().folder);
}

namespace {

bool seems_over(const StoreFolder& folder, const RunRow& run) {
  return run.state == RunState::running && as_observed(run, folder.path).state != RunState::running;
}

}  // namespace

RunRow observed(const Store& store, const StoreFolder& folder, RunRow run) {
  if (!seems_over(folder, run)) return run;
  // It may have ended after the row was read: an end is recorded before the lock is let go.
  return as_observed(store.run(run.id).value_or(run), folder.path);
}

RunRow settled(Store& store, const RunRow& run) {
  if (run.state != RunState::running) return run;
  store.reconcile_state(run);
  return store.run(run.id).value_or(run);
}

std::vector<RunRow> runs_meant(Store& store, const LaunchRequest& request) {
  const auto name = request.resolved.section("run").get<std::string>("name");
  const std::string origin = request.origin ? to_json(*request.origin) : "";
  std::vector<RunRow> runs = store.runs(name, request.resolved.hash());
  std::erase_if(runs, [&](const RunRow& run) { return run.origin != origin; });
  for (RunRow& run : runs) run = settled(store, run);
  return runs;
}

std::string is_running(const RunRow& run) {
  const std::string where = "process " + std::to_string(run.pid) + " on " + run.host;
  if (!on_another_host(run)) return "is running (" + where + ")";
  const int64_t seconds = std::max<int64_t>(0, now_ms() - run.last_beat_ms) / 1000;
  return "may be running (" + where + ", last seen alive " + std::to_string(seconds) + " s ago)";
}

}  // namespace exprun
