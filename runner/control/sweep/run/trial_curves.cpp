#include "control/sweep/run/trial_curves.h"

namespace exprun {

TrialCurves::TrialCurves(const Store& store, const SweepPlan& plan)
    : store_(store), plan_(plan), read_(plan.trials.size()) {
  for (size_t i = 0; i < plan.trials.size(); ++i) curves_.emplace_back(0, objective_of(plan));
}

void TrialCurves::refresh(const Trial& trial, const RunRow& run) {
  Curve& curve = curves_[index(trial)];
  const std::pair<int64_t, int64_t> now{run.id, run.attempt};
  if (std::exchange(read_[index(trial)], now) != now) {
    curve = Curve(run.steps, objective_of(plan_), trial.every);
    change();
  }
  for (const SeriesRow& series : store_.series(run.id)) {
    if (series.name != plan_.metric || series.last_step <= curve.last_step()) continue;
    for (const MetricRow& row : store_.metrics(series.id, curve.last_step()))
      curve.add(row.step, row.value);
    change();
  }
}

StoppingRule& TrialCurves::stopping_rule() {
  if (!stopping_rule_) stopping_rule_.emplace(curves_, plan_.early_stop);
  return *stopping_rule_;
}

void TrialCurves::change() {
  stopping_rule_.reset();
  ++revision_;
}

}  // namespace exprun
