// What every rank needs to know of an attempt: rank 0 reads it in the run's folder, where its
// launcher put it, and sends it to the others at the rendezvous.
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

  // Throws RecipeError: some mistakes in a recipe are found only here.
  ResolvedRecipe resolved() const;
  bool wants_gpus() const;  // whether the recipe insists on them
};

// With the device that the recipe asks for on rank 0's machine. Throws RecipeError, Error.
HandOver read_hand_over(const RunFolder& folder,
                        const std::optional<std::filesystem::path>& checkpoint,
                        const std::string& checkpoint_recipe = "");

// As rank 0: sends it to all others, which compare what they have with what rank 0 has
// (consistency_check.h), and decides. Returns the stop signal that came before the decision, if one
// did: the others then end with it too. Where not every rank has a GPU of its own, the device
// becomes the CPU for all, with a warning, or that is an error if the recipe insists on GPUs.
// Throws Error when a rank cannot take part (every rank then shows which, and why), and one with
// ExitCode::preempted when ranks of other machines do not join: nothing has begun.
StopRequest send_hand_over(Rendezvous& rendezvous, HandOver& hand_over,
                           const OwnGpu& own = own_gpu);

// What a rank above 0 receives: how to train, or with what exit code to end.
using ReceivedHandOver = std::variant<HandOver, ExitCode>;

// Afterwards the rank works in rank 0's working directory. `recipe_hash`: of the recipe that this
// rank was started with, if it was started with one. Throws Error as send_hand_over() does.
ReceivedHandOver receive_hand_over(Rendezvous& rendezvous,
                                   const std::optional<std::string>& recipe_hash,
                                   const OwnGpu& own = own_gpu);

}  // namespace exprun
