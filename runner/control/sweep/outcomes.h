// How a trial of a sweep stands, read from the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "control/sweep/trials.h"

namespace exprun {

// The runs of a trial's recipe as the store has them, the trial's first: of those on the data of
// the one that is meant_first() the first that finished, whatever was begun later with the same
// recipe; where none has finished, the newest.
std::vector<RunRow> runs_of(const Store& store, const StoreFolder& folder, const Trial& trial);

// What a trial's recipe has come to so far; nothing is changed.
WhichRun standing(const Store& store, const StoreFolder& folder, const Trial& trial);

// Whether a sweep starts a trial that stands so, or leaves it as it is: finished, pruned (though
// early stopping may find later that it is worth going on with), or failed and not to be retried.
bool may_start(const WhichRun& which, bool retry_failed);

struct Score {
  double value = 0;
  int64_t step = 0;
};

// The value of the plan's metric by which a run is compared.
std::optional<Score> best_score(const Store& store, const SweepPlan& plan, int64_t run);

// "finished, best val/loss 1.915 at step 300, 58s (quickstart-1a2b3c4d)"
std::string outcome_text(const Store& store, const SweepPlan& plan, const RunRow& run);

}  // namespace exprun
