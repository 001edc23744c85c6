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
  // Of the run, "removed" where that was, or "waiting", or "failed" where it could not begin.
  std::string state;
};

// What a sweep has found: its best trial, or, of points with several seeds each, the one with the
// best mean.
struct BestPoint {
  const StoredTrial* trial = nullptr;  // the best one of the point
  std::string changes;  // without the seed where there is a mean; empty where only that varies
  std::optional<Spread> mean;

  double value() const { return mean ? mean->mean : trial->score->value; }
};

struct StoredSweep {
  SweepRow row;
  SweepPlan plan;     // as recorded_plan()
  std::string state;  // running, interrupted, failed, finished or removed, as in the view `sweeps`
  std::vector<StoredTrial> trials;
  std::vector<SweepProcess> processes;

  int count(const std::string& state) const;
  int interrupted() const;          // those that have ended before their time, whatever ended them
  const StoredTrial* best() const;  // of those that finished; null without one
  std::optional<BestPoint> best_point() const;
  std::vector<AxisValues> points() const;  // of all trials
  std::vector<ScoredPoint> finished_points() const;
  std::vector<RunRow> finished_runs() const;
  // Of those that finished; empty without a second seed.
  std::vector<Replicates> means() const;
};

// "4 of 7 trials finished, 1 failed, 1 stopped early, 1 interrupted"
std::string counts_text(size_t trials, int finished, int failed, int pruned, int interrupted);
std::string counts_text(const StoredSweep& sweep);  // and ", 2 removed"

// "best: lr=0.001, val/loss 1.915 at step 300 (quickstart-1a2b3c4d)", "best: lr=0.001, val/loss
// 1.915 ± 0.012 over 3 seeds", and "mean over 3 seeds: val/loss 1.915 ± 0.012" where only seeds
// vary
std::string best_text(const StoredSweep& sweep, const BestPoint& best);

// That its trials were trained on different data, which makes its metric hard to compare; or empty.
std::string data_warning(const StoredSweep& sweep);

// By what the trials of a sweep are compared; without the trials.
SweepPlan recorded_plan(const SweepRow& row);

StoredSweep stored_sweep(const Store& store, const StoreFolder& folder, const SweepRow& row);

}  // namespace exprun
