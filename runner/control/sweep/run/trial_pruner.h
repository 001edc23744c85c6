// The trials of a sweep that its rule (stopping_rule.h) stops early, and which of them go on after
// all.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/launch/run/which_run.h"
#include "control/launch/store_folder.h"
#include "control/sweep/stopping_rule.h"
#include "control/sweep/trials.h"

namespace exprun {

// The metric of every trial of a sweep, as far as the store has it.
class TrialCurves {
 public:
  TrialCurves(const Store& store, const SweepPlan& plan);

  // Reads what is new of the trial's run. Of a later attempt all is read again: it may have begun
  // before the last value.
  void refresh(const Trial& trial, const RunRow& run);

  const Curve& of(const Trial& trial) const { return curves_[index(trial)]; }
  // Another one whenever a curve has changed.
  int64_t revision() const { return revision_; }
  // As those of StoppingRule.
  bool is_behind(const Trial& trial) { return stopping_rule().is_behind(index(trial)); }
  std::optional<std::string> reason_to_stop(const Trial& trial) {
    return stopping_rule().reason_to_stop(index(trial));
  }

 private:
  static size_t index(const Trial& trial) { return static_cast<size_t>(trial.number) - 1; }

  StoppingRule& stopping_rule();
  void change();

  const Store& store_;
  const SweepPlan& plan_;
  std::vector<Curve> curves_;
  std::vector<std::pair<int64_t, int64_t>> read_;  // run and attempt
  std::optional<StoppingRule> stopping_rule_;      // of the curves as they are
  int64_t revision_ = 0;
};

// Without a rule (has_rule()), a caller asks nothing else.
class TrialPruner {
 public:
  // All must outlive it.
  TrialPruner(Store& store, const StoreFolder& folder, const SweepPlan& plan)
      : store_(store), folder_(folder), plan_(plan), curves_(store, plan) {}

  bool has_rule() const { return plan_.early_stop.rule != EarlyStop::Rule::none; }

  // Reads what is new of a trial's metric.
  void look_at(const Trial& trial);
  void look_at(const Trial& trial, const RunRow& run) { curves_.refresh(trial, run); }
  // The same of `count` trials that this process does not run. Of very many, each call looks at the
  // next portion, and not more often than takes little of the time.
  void look_at_others(size_t count, const std::function<const Trial&(size_t)>& other);

  // Why a trial that runs is to be told to save and end; nothing if it may go on. Recorded as an
  // event of its run, from which its launcher takes the reason.
  std::optional<std::string> prune(const Trial& trial, const RunRow& run);
  // Ends a trial that was interrupted before it could be told, and need not start again. False if
  // it may go on, or somebody else continues it.
  bool prune_interrupted(const Trial& trial, const WhichRun& which);

  // A trial was pruned.
  void add(const Trial& trial) { pruned_.push_back(&trial); }
  int count() const { return static_cast<int>(pruned_.size()); }

  // Of the pruned trials, takes out the furthest that is worth going on with, now that
  // more have come as far; null without one.
  const Trial* promote();

 private:
  Store& store_;
  const StoreFolder& folder_;
  const SweepPlan& plan_;
  TrialCurves curves_;
  std::vector<const Trial*> pruned_;
  size_t behind_ = 0;      // so many of these are not worth going on with,
  int64_t behind_at_ = 0;  // at this revision of the curves
  std::chrono::steady_clock::time_point next_look_at_others_{};
  size_t next_other_ = 0;  // to be looked at
};

}  // namespace exprun
