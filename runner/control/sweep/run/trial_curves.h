// The metric of every trial of a sweep, as far as the store has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/sweep/stopping_rule.h"
#include "control/sweep/trials.h"

namespace exprun {

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

}  // namespace exprun
