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

}  // namespace exprun
