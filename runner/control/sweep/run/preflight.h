// Whether the trials of a sweep could start here, asked before the first of them does.
#pragma once

#include <string>
#include <vector>

#include "base/files/file_lock.h"
#include "control/launch/store_folder.h"
#include "control/sweep/trials.h"

namespace exprun {

// Replaces the runs that init_from means by paths of their checkpoints, as for a run alone. All
// trials with the same `init_from` use the same checkpoint: if one of them has begun, the one that
// it began with. The locks keep the checkpoints. Points that come to the same recipe are one trial.
std::vector<FileLock> find_initial_weights(SweepPlan& plan, const StoreFolder& folder,
                                           DatasetGlances& glances);

// Before it is asked how trials stand: where there are runs on several data, those of its recipe
// tell which run is a trial's.
void identify_data(SweepPlan& plan, const Store& store, const StoreFolder& folder,
                   DatasetGlances& glances);

// What to say of trials whose runs were trained on other data than the recipe names now, because
// files were edited, added or removed. Each names the runs, and is empty where there are none.
struct OtherData {
  std::string cannot_go_on;  // they were interrupted, and their own data are gone
  std::string ended;
  std::string go_on;  // they were interrupted, and have their own data still
  // Nothing tells which of its runs the recipe means: they differ in their data, and its own cannot
  // be read.
  std::string unknown;
};
OtherData other_data(const Store& store, const StoreFolder& folder, const SweepPlan& plan,
                     bool retry_failed);

// For trials that begin. Throws RecipeError with all of their data, evaluation files and weights
// that are missing, with weights that do not fit the model (each model is asked for once, which
// takes some tenths of a second), and, where trials differ in which components they have, with
// those that do not fit together (of the first combinations); Error.
void require_startable(const std::vector<const Trial*>& trials, const StoreFolder& folder,
                       DatasetGlances& glances);

}  // namespace exprun
