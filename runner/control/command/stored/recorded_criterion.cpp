#include "control/command/stored/recorded_criterion.h"

#include <algorithm>
#include <map>

#include "control/sweep/stored_sweeps.h"

namespace exprun {
namespace {

constexpr const char* kMetric = "run.best_metric";
constexpr const char* kGoal = "run.best_goal";

}  // namespace

Criterion criterion_of(const SweepPlan& plan) {
  Criterion criterion = best_value_of(plan.metric, plan.maximize);
  const Summary summary = objective_of(plan).summary;
  criterion.value = summary == Summary::min   ? ValueName::Which::min
                    : summary == Summary::max ? ValueName::Which::max
                                              : ValueName::Which::last;
  return criterion;
}

Criterion recorded_criterion(const Store& store, const std::vector<ReportedRun>& runs,
                             const std::string& sweep) {
  if (!sweep.empty()) return criterion_of(recorded_plan(store.find_sweep(sweep)));
  const auto changed = store.changed_parameter_paths(ids_of(runs));
  const auto is_changed = [&](const char* path) {
    return std::find(changed.begin(), changed.end(), path) != changed.end();
  };
  if (runs.empty() || (!is_changed(kMetric) && !is_changed(kGoal))) return {};
  const auto metrics = store.parameter_by_run(kMetric), goals = store.parameter_by_run(kGoal);
  const auto of_run = [&](const ReportedRun& run) {
    const auto metric = metrics.find(run.run.id), goal = goals.find(run.run.id);
    if (metric == metrics.end() || goal == goals.end()) return Criterion{};
    return best_value_of(bare_text(metric->second), bare_text(goal->second) == "maximize");
  };
  const Criterion first = of_run(runs.front());
  const bool agree = std::all_of(runs.begin(), runs.end(),
                                 [&](const ReportedRun& run) { return of_run(run) == first; });
  return agree ? first : Criterion{};
}

Criterion recorded_criterion(const Store& store, const RunRow& run) {
  return recorded_criterion(store, std::vector<ReportedRun>{{run, {}, {}, {}}});
}

}  // namespace exprun
