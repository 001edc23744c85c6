// Which run a plain `exprun RECIPE` means, and what a new one does otherwise than the last: told by
// the rows of the store alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/launch/store_folder.h"
#include "recipe/resolved.h"
#include "store/rows.h"
#include "store/store.h"

namespace exprun {

struct LaunchRequest;

enum class Decision {
  start_new,     // none has this name and hash, or --new
  continue_run,  // it ended before its last step, and by no fault of its own: its last attempt may
                 // have failed before a step
  show_result,   // it is finished
  refuse_running,
  refuse_ended,  // it failed in training, diverged or was pruned: only the user knows what to do
};

bool needs_a_trainer(Decision decision);

struct WhichRun {
  Decision decision = Decision::start_new;
  std::optional<RunRow> run;  // which one it is about

  // The same attempt of the same run: nobody has continued it meanwhile.
  friend bool operator==(const WhichRun& a, const WhichRun& b) {
    if (a.decision != b.decision || a.run.has_value() != b.run.has_value()) return false;
    return !a.run || (a.run->id == b.run->id && a.run->attempt == b.run->attempt);
  }
};

// `same` has the runs of the same name and hash, newest first, in their observed states.
WhichRun which_run(const std::vector<RunRow>& same, bool always_new);

// The line that says what a new run does otherwise than the newest run of its name.

// "new run; against quickstart-1a2b3c4d: optimizer.lr: 0.0003 (was 0.001)"; empty if none has it.
std::string difference_from_newest(const Store& store, const ResolvedRecipe& resolved);

// "optimizer.lr: 0.0003 (was 0.001)", of the keys that one of the two changed; empty where those
// are equal.
std::string differing_parameters(const std::vector<ParameterRow>& now,
                                 const std::vector<ParameterRow>& before);

// What is told of two runs by the keys that one of them changed; a key that the other left alone
// has its default there, and one that it does not know is not set.
std::string describe_difference(const std::vector<ParameterRow>& now,
                                const std::vector<ParameterRow>& before, const std::string& run);

// Runs as they really stand: one that is recorded as running, and whose lock is free, has crashed.

// For readers: the row is shown as it is, not changed.
RunRow observed(const Store& store, const StoreFolder& folder, RunRow run);

// For writers: an end that nobody could record is recorded.
RunRow settled(Store& store, const RunRow& run);

// Runs of the name, the hash and the origin of what is to be launched, settled, newest first: a
// recipe alone never means a fork.
std::vector<RunRow> runs_meant(Store& store, const LaunchRequest& request);

// "is running (process 17 on box)"; of another host, when it was last seen alive.
std::string is_running(const RunRow& run);

}  // namespace exprun
