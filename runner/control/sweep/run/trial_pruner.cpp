#include "control/sweep/run/trial_pruner.h"

#include <algorithm>
#include <utility>

#include "control/launch/run/run_lock.h"
#include "control/launch/supervise.h"
#include "control/sweep/outcomes.h"

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

void TrialPruner::look_at(const Trial& trial) {
  if (const WhichRun which = standing(store_, folder_, trial); which.run)
    curves_.refresh(trial, *which.run);
}

void TrialPruner::look_at_others(size_t count, const std::function<const Trial&(size_t)>& other) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kAllOfThem{1};
  constexpr size_t kPortion = 100;
  constexpr int kShare = 20;
  const auto begin = Clock::now();
  if (begin < next_look_at_others_ || count == 0) return;
  const size_t portion = std::min(count, kPortion);
  for (size_t i = 0; i < portion; ++i) look_at(other((next_other_ + i) % count));
  next_other_ = (next_other_ + portion) % count;
  const auto end = Clock::now();
  const auto pause =
      Clock::duration(kAllOfThem) * static_cast<int64_t>(portion) / static_cast<int64_t>(count);
  next_look_at_others_ = end + std::max<Clock::duration>(pause, kShare * (end - begin));
}

std::optional<std::string> TrialPruner::prune(const Trial& trial, const RunRow& run) {
  const auto reason = curves_.reason_to_stop(trial);
  if (reason) store_.record_event({run.id, 0, "info", kPruneEvent, *reason});
  return reason;
}

bool TrialPruner::prune_interrupted(const Trial& trial, const WhichRun& which) {
  if (which.decision != Decision::continue_run || !curves_.reason_to_stop(trial)) return false;
  const HeldRun held = hold_ended_run(folder_, *which.run);
  if (!held.lock || !(standing(store_, folder_, trial) == which)) return false;
  const auto reason = prune(trial, *which.run);
  store_.end_attempt(which.run->id, RunState::pruned, which.run->exit_code, which.run->signal,
                     *reason);
  return true;
}

// Those that were behind stay so until a curve changes.
const Trial* TrialPruner::promote() {
  if (std::exchange(behind_at_, curves_.revision()) != curves_.revision()) behind_ = 0;
  const Trial* promoted = nullptr;
  for (; behind_ < pruned_.size(); ++behind_) {
    const Trial* trial = pruned_[behind_];
    if (!curves_.is_behind(*trial) &&
        (!promoted || curves_.of(*trial).last_step() > curves_.of(*promoted).last_step()))
      promoted = trial;
  }
  if (promoted) behind_ = 0;  // others may be worth it too
  std::erase(pruned_, promoted);
  return promoted;
}

}  // namespace exprun
