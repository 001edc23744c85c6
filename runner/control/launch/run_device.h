// Whether a run trains on the CPU or on GPUs of this machine.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/machine/gpus.h"
#include "control/launch/trainer_program.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"

namespace exprun {

// What this machine has for a run on GPUs, as their driver tells before anything is started.
struct GpuOffer {
  std::vector<Gpu> gpus;  // that this process may use (CUDA_VISIBLE_DEVICES)
  std::string problem;    // why a run cannot have them; empty if it can
  std::string remedy;

  bool is_usable() const { return problem.empty(); }
};

// Looks for the driver, its version, GPUs, and exprun-trainer-cuda beside this program; once.
const GpuOffer& gpu_offer();

// What keeps a recipe that asks for GPUs from training here: none of use, or fewer than its ranks.
// `ranks_elsewhere`: the ranks are on several machines, perhaps, and each looks for its own GPU.
Diagnostics gpu_problems(const ResolvedRecipe& recipe, const GpuOffer& offer, bool ranks_elsewhere);

// [run] device = "auto" takes GPUs where they can be had, one for each rank; what keeps a run from
// GPUs that are there is a warning. The recipe has no gpu_problems. Where an external launcher
// starts the ranks, all take the program that their machine has GPUs for, and rank 0's says on what
// they train.
TrainerKind trainer_kind(const ResolvedRecipe& recipe, const GpuOffer& offer, bool ranks_elsewhere);

// Whether a run whose ranks are all here trains on the CPU: by trainer_kind(), and as it says even
// where it has gpu_problems.
bool trains_on_cpu(const ResolvedRecipe& recipe, const GpuOffer& offer);

// Where [parallelism] world_size is "auto" and the run gets GPUs: a rank for each, or for as many
// as divide its batch. Otherwise the text as it is.
RecipeText with_a_rank_a_gpu(RecipeText text, const GpuOffer& offer);

}  // namespace exprun
