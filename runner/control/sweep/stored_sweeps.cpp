#include "control/sweep/stored_sweeps.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"

namespace exprun {
namespace {

SweepPlan plan_of(const SweepRow& row) {
  SweepPlan plan;
  const auto space = parse_json_or_discard<nlohmann::json>(row.space_json);
  if (!space.is_object()) return plan;
  plan.method = space.value("method", plan.method);
  plan.metric = space.value("metric", plan.metric);
  plan.maximize = space.value("goal", "minimize") == "maximize";
  if (space.contains("summary")) plan.summary = summary_of(space["summary"].get<std::string>());
  return plan;
}

StoredTrial stored_trial(const Store& store, const StoreFolder& folder, const SweepPlan& plan,
                         TrialRow row) {
  StoredTrial trial{std::move(row), {}, {}, {}};
  if (trial.row.run) trial.run = store.run(*trial.row.run);
  if (trial.run && trial.run->removed_ms) trial.run.reset();
  if (trial.run) trial.run = observed(store, folder, *trial.run);
  if (trial.run) trial.score = best_score(store, plan, trial.run->id);
  trial.state = trial.run                   ? to_string(trial.run->state)
                : trial.row.problem.empty() ? "waiting"
                                            : "failed";
  return trial;
}

std::string state_of(const StoredSweep& sweep) {
  const auto any = [&](std::initializer_list<const char*> states) {
    return std::any_of(states.begin(), states.end(),
                       [&](const char* state) { return sweep.count(state) > 0; });
  };
  if (!sweep.processes.empty() || any({"running"})) return "running";
  if (any({"waiting", "interrupted", "preempted", "killed", "crashed"})) return "interrupted";
  return any({"failed", "diverged"}) ? "failed" : "finished";
}

}  // namespace

int StoredSweep::count(const std::string& wanted) const {
  return static_cast<int>(std::count_if(trials.begin(), trials.end(),
                                        [&](const StoredTrial& t) { return t.state == wanted; }));
}

const StoredTrial* StoredSweep::best() const {
  const StoredTrial* best = nullptr;
  for (const StoredTrial& trial : trials) {
    if (trial.state != "finished" || !trial.score) continue;
    if (!best || (plan.maximize ? trial.score->value > best->score->value
                                : trial.score->value < best->score->value))
      best = &trial;
  }
  return best;
}

std::vector<ScoredPoint> StoredSweep::finished_points() const {
  std::vector<ScoredPoint> points;
  for (const StoredTrial& trial : trials)
    if (trial.state == "finished" && trial.score)
      points.push_back({axis_values(trial.row.changes), trial.score->value});
  return points;
}

StoredSweep stored_sweep(const Store& store, const StoreFolder& folder, const SweepRow& row) {
  StoredSweep sweep{row, plan_of(row), {}, {}, sweep_processes(folder, row.uid)};
  for (TrialRow& trial : store.trials(row.id))
    sweep.trials.push_back(stored_trial(store, folder, sweep.plan, std::move(trial)));
  sweep.state = state_of(sweep);
  return sweep;
}

}  // namespace exprun
