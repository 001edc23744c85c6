// The sweeps of a store as they stand now: what is recorded, and which processes live.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/sweep/analysis.h"
#include "control/sweep/outcomes.h"
#include "control/sweep/sweep_processes.h"
#include "store/store.h"

namespace exprun {

struct StoredTrial {
  TrialRow row;
  std::optional<RunRow> run;   // as observed; none before it has begun, or when it was removed
  std::optional<Score> score;  // by the sweep's metric
  std::string state;           // of the run, or "waiting", or "failed" where it could not begin
};

struct StoredSweep {
  SweepRow row;
  SweepPlan plan;     // without trials: by what they are compared
  std::string state;  // running, interrupted, failed or finished, as in the view `sweeps`
  std::vector<StoredTrial> trials;
  std::vector<SweepProcess> processes;

  int count(const std::string& state) const;
  const StoredTrial* best() const;  // of those that finished; null without one
  std::vector<ScoredPoint> finished_points() const;
};

StoredSweep stored_sweep(const Store& store, const StoreFolder& folder, const SweepRow& row);

}  // namespace exprun
