// Runs the trials of a sweep, one after another. A second call finishes what a first one left.
#pragma once

#include <optional>
#include <string>

#include "control/sweep/trials.h"

namespace exprun {

struct SweepOptions {
  bool retry_failed = false;
  std::string command_line;
  LogLevel level = LogLevel::info;
};

struct SweepEnd {
  int finished = 0;   // also those of an earlier call
  int failed = 0;     // failed, diverged or killed
  int for_good = 0;   // of these: the same call does not go on with them
  int elsewhere = 0;  // running in another process
  std::optional<int>
      stopped;  // exit code of the trial that a signal stopped, and the sweep with it
};

// A line on standard error tells of each trial as soon as it has ended. Throws Error.
SweepEnd run_trials(Store& store, const StoreFolder& folder, const SweepPlan& plan,
                    const SweepOptions& options);

// How trials stand and which of them is best, read from the store.

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
