// Which checkpoint of a run is meant: the newest that it can continue from, or --step of `eval`,
// `sample` and `fork`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files/checkpoints.h"
#include "base/files/file_lock.h"
#include "base/files/run_folder.h"
#include "control/launch/store_folder.h"
#include "store/store.h"

namespace exprun {

struct CheckpointChoice {
  enum class Kind { last, best, step } kind = Kind::last;
  int64_t step = 0;
};

// Of the option, for help.
inline constexpr const char* kStepHelp =
    "the checkpoint of step N, the one with the best run.best_metric, or the newest "
    "(default: last; of @best: best)";

// "last", "best" or a number of steps; empty: "last". Throws Error that begins with the command.
CheckpointChoice checkpoint_choice(const std::string& command, const std::string& word);

// "mine-1a2b3c4d has no checkpoint; `exprun rerun mine-1a2b3c4d lr=1e-4` trains it again", if it
// can be repeated; of one that is running, that it has none yet.
std::string that_it_has_no_checkpoint(const StoreFolder& folder, const std::string& run,
                                      const std::vector<std::string>& changes = {});

// A checkpoint and a shared lock of its manifest: while it lives, a run that trains meanwhile does
// not remove the checkpoint as one of its old ones.
struct HeldCheckpoint {
  CheckpointFolder folder;
  FileLock reading;
};

// For what an error says.
struct CheckpointAsker {
  std::string command;  // with which it begins
  // Runs of the same name, one of which may be meant where a step is missing. Read only then.
  std::function<std::vector<RunRow>()> namesakes = {};
  std::vector<std::string> changes = {};  // of the recipe, to train with them from the start
};

// The chosen checkpoint of the run with this folder, verified byte by byte against its manifest.
// "last" is the newest intact one: damaged ones are skipped with a warning. "best" is the best by
// the run's best_metric, as its newest checkpoint has it. Throws Error, which says which
// checkpoints there are.
HeldCheckpoint chosen_checkpoint(const StoreFolder& folder, const std::string& run,
                                 const CheckpointChoice& choice, const CheckpointAsker& asker);

// The step of the best one that a run has kept where it is not the newest.
std::optional<int64_t> best_before_newest(const RunFolder& run);

// Of a run that is named by "@best": the best one, also where it is damaged, to be refused; the
// newest where none is known, or where it is not there, of which it warns.
CheckpointChoice choice_of_best(const RunFolder& run);

// Without --step: that of a run that is named by "@best", which is said.
CheckpointChoice choice_without_step(const std::string& reference, const RunFolder& run);

// The newest intact one with finite weights, from which a further attempt goes on; nothing where
// the run begins. A warning for each that is skipped. Throws Error where the run cannot begin anew:
// it has checkpoints, none of which will do, it diverged, or it is a fork.
std::optional<CheckpointFolder> checkpoint_to_continue_from(const Store& store,
                                                            const StoreFolder& folder,
                                                            const RunRow& run);

}  // namespace exprun
