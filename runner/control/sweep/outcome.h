// How trials stand and which of them is best, read from the store.
#pragma once

#include <optional>

#include "control/sweep/trials.h"

namespace exprun {

// What a trial's recipe has come to so far; nothing is changed.
WhichRun standing(const Store& store, const StoreFolder& folder, const Trial& trial);

struct Score {
  double value = 0;
  int64_t step = 0;
};

// The best value of the plan's metric in a run.
std::optional<Score> best_score(const Store& store, const SweepPlan& plan, int64_t run);

// "finished, best val/loss 1.915 at step 300, 58s (quickstart-1a2b3c4d)"
std::string outcome_text(const Store& store, const SweepPlan& plan, const RunRow& run);

// "best: lr=0.001, val/loss 1.915 at step 300 (quickstart-1a2b3c4d)" of the trials that finished:
// what another leaves may be the loss of its first steps. Empty without a score.
std::string best_text(const Store& store, const StoreFolder& folder, const SweepPlan& plan);

}  // namespace exprun
