// What every rank needs to know of an attempt: rank 0 reads it in the run's folder, where its
// launcher put it, and tells the others at the rendezvous.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>

#include "base/diagnostic.h"
#include "base/files/run_folder.h"
#include "base/process/signals.h"
#include "dist/rendezvous.h"
#include "engine/attempt/gpu_claims.h"
#include "recipe/resolved.h"
#include "text/prepared_data.h"

namespace exprun {

struct HandOver {
  RunFolder folder;
  std::string recipe;  // RecipeText as JSON
  PreparedData data;
  std::optional<std::filesystem::path> checkpoint;  // to go on from
  std::string device = "cpu";                       // of all ranks: "cpu" or "cuda"
  int64_t attempt = 1;                              // of the run
  std::string checkpoint_recipe = "";               // its hash, where the run was extended since

  // Throws RecipeError, as a late mistake in the recipe shows itself here.
  ResolvedRecipe resolved() const;
  bool wants_gpus() const;  // whether the recipe insists on them
};

// With the device that the recipe means on rank 0's machine. Throws RecipeError, Error.
HandOver read_hand_over(const RunFolder& folder,
                        const std::optional<std::filesystem::path>& checkpoint,
                        const std::string& checkpoint_recipe = "");

// From rank 0 to all others, who compare what they have with what rank 0 has (consistency_check.h).
// Returns the stop signal that came before all had agreed, if one did: the others then end as after
// it. Where not every rank has a GPU of its own, the device becomes the CPU for all, with a
// warning, or that is an error if the recipe insists on GPUs. Throws Error when a rank cannot take
// part (every rank then says which, and why), and one with ExitCode::preempted when ranks of other
// machines do not come: nothing has been begun.
StopRequest tell(Rendezvous& rendezvous, HandOver& hand_over, const OwnGpu& own = own_gpu);

// What a rank above 0 hears: how to train, or with what exit code to end.
using Heard = std::variant<HandOver, ExitCode>;

// From then on the rank works in rank 0's working directory. `recipe_hash`: of the recipe that this
// rank was started with, if it was started with one. Throws Error as tell() does.
Heard hear(Rendezvous& rendezvous, const std::optional<std::string>& recipe_hash,
           const OwnGpu& own = own_gpu);

}  // namespace exprun
