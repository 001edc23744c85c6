// Forking: a new run that begins with the weights and the optimizer's state of another's
// checkpoint.
#pragma once

#include <cstdint>
#include <string>

#include "base/dataset_info.h"
#include "base/files/checkpoints.h"
#include "base/files/run_folder.h"
#include "recipe/resolved.h"
#include "store/rows.h"
#include "text/prepared_data.h"

namespace exprun {

struct LaunchRequest;
struct StoreFolder;

struct ForkOrigin {
  RunRow run;
  RunFolder folder;       // of that run
  ResolvedRecipe recipe;  // of that run
  CheckpointFolder checkpoint;
  bool fresh_optimizer = false;  // its optimizer state is left behind
};

// As the store keeps it: {"run": uid, "folder", "step", "recipe_hash", "fresh_optimizer"}.
std::string to_json(const ForkOrigin& origin);

// Throws Error where a fork would record other weights in model.init_from than the recipe that it
// follows, `before`: it begins with those of its checkpoint. `instead`: a command that trains from
// those, or empty.
void refuse_other_weights(const std::string& command, const ResolvedRecipe& before,
                          const ResolvedRecipe& now, const std::string& instead = "");

// Of what begins with an origin. Throws Error that lists every tensor that its text would make
// otherwise; where it makes none, or only the optimizer's otherwise, says that nothing is left to
// train in `steps`. Other `data` than the run's, of which `dataset_info` are the facts, are named
// as a cause.
void require_usable(const LaunchRequest& request, const StoreFolder& folder,
                    const ResolvedRecipe& resolved, int64_t steps, const PreparedData& data,
                    const DatasetInfo& dataset_info);

// Puts the checkpoint into the new run's folder, as one of that run: tensors as hard links where
// the file system can. What its recipe or data make meaningless is dropped. Returns where it lies.
CheckpointFolder copy_checkpoint(const ForkOrigin& origin, const RunFolder& to,
                                 const ResolvedRecipe& resolved,
                                 const std::string& data_fingerprint);

}  // namespace exprun
