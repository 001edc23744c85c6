// The part of a launch that may take long and changes no run: the data, the recipe with it, and the
// checkpoint to go on from. It holds no lock.
#pragma once

#include <filesystem>
#include <optional>

#include "base/files/checkpoints.h"
#include "control/data/prepare.h"
#include "control/launch/launch.h"
#include "control/launch/run_device.h"
#include "store/rows.h"
#include "text/prepared_data.h"

namespace exprun {

struct PreparedLaunch {
  PreparedData data;
  ResolvedRecipe resolved;                     // with the facts of the data
  int64_t steps = 0;                           // the run's length
  std::optional<CheckpointFolder> checkpoint;  // of `run`: newest_to_continue_from()
  Provenance provenance;
  TrainerKind trainer = TrainerKind::cpu;
};

// `run` is the one to continue, if any. Paths of the recipe are read from the current working
// directory. Throws RecipeError, Error.
PreparedLaunch prepare_launch(const Store& store, const StoreFolder& folder,
                              const LaunchRequest& request, const std::optional<RunRow>& run);

// Of the data, the examples of evaluations and the weights to begin with that a recipe names: what
// is missing, and what the data tell. Of tables with mistakes of their own, nothing but missing
// sources.
DataGlance glance_at_files(const Resolution& resolution, const StoreFolder& folder,
                           DatasetGlances& glances);

// What is wrong with the recipe or its data at first sight, for a new run (without a `run`) also
// with the weights that it begins with and the parameters that its optimizer selects (a sweep asks
// that once for all its trials), and GPUs that it wants and this machine has not, before anything
// is prepared or written. Returns what it saw of the data; where sources are gone, those that the
// run was trained on, or the one that a fork or a repetition is of. Throws RecipeError.
DataGlance require_at_first_sight(const LaunchRequest& request, const StoreFolder& folder,
                                  const std::optional<RunRow>& run);

// What concerns a run reads the paths of its recipe from where it was started.

// Changes to the run's working directory, if there is a run, and back at the end. Where it is gone
// (a project was renamed or moved) it stays and says so: what is missing is told at its key.
class WorkingDirectory {
 public:
  explicit WorkingDirectory(const std::optional<RunRow>& run);
  ~WorkingDirectory();
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;

 private:
  std::filesystem::path former_;
};

}  // namespace exprun
