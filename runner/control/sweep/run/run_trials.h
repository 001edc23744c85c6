// Runs the trials of a sweep, some at a time, each in a process of its own. A second call finishes
// what a first one left, and several at once share the trials: a run's lock says whose it is.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "control/sweep/trials.h"

namespace exprun {

struct SweepOptions {
  size_t jobs = 1;  // trials at a time
  bool retry_failed = false;
  bool fail_fast = false;  // the first failure of this call stops the others, which save
  std::string command_line;
  LogLevel level = LogLevel::info;
  std::function<void(int64_t sweep)> begun = {};  // told its number in the store
};

struct SweepEnd {
  int64_t sweep = 0;  // its number in the store
  int finished = 0;   // also those of an earlier call
  int failed = 0;     // failed, diverged or killed, or could not begin; the same call starts those
                      // again that failed before their first step
  int for_good = 0;   // of these: the same call does not go on with them
  int cut_off = 0;    // of these: killed or crashed, which the same call goes on with
  int pruned = 0;     // stopped early
  int interrupted = 0;  // saved; the same call goes on with them
  int elsewhere = 0;    // running in another process
  // Exit code after a stop signal, or of a trial that was stopped alone.
  std::optional<int> stopped;
};

// A line on standard error tells of each trial as soon as it has ended; of the first that failed,
// also the last lines of its log. After a stop signal the trials save and end. Throws Error where
// the store or the machine fails, but not for a trial that does.
SweepEnd run_trials(Store& store, const StoreFolder& folder, const SweepPlan& plan,
                    const SweepOptions& options);

}  // namespace exprun
