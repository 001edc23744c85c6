// Whether a run trains on the CPU or on GPUs of this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/machine/gpus.h"
#include "control/launch/ranks/external_launcher.h"
#include "control/launch/trainer_program.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"
#include "recipe/rules/capacity.h"

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
// `joined`: the ranks are on several machines, perhaps, and each looks for its own GPU.
Diagnostics gpu_problems(const ResolvedRecipe& recipe, const GpuOffer& offer, bool joined);

// [run] device = "auto" takes GPUs where they can be had, one a rank; what keeps a run from GPUs
// that are there is a warning. The recipe has no gpu_problems. Where another launcher starts the
// ranks, all take the program that their machine has GPUs for, and rank 0's says on what they
// train.
TrainerKind trainer_kind(const ResolvedRecipe& recipe, const GpuOffer& offer, bool joined);

// Where [parallelism] world_size is "auto" and the run gets GPUs: a rank for each, or for as many
// as divide its batch. Otherwise the text as it is.
RecipeText with_a_rank_a_gpu(RecipeText text, const GpuOffer& offer);

// What a recipe asks and this machine has not. The recipe is no worse for it: an error is what
// keeps a run from starting here.
struct Hardware {
  int64_t cores = 1;      // that this process may use
  std::string processor;  // its flags (base/machine/processor.h)
  double memory = 0;      // bytes; 0 if it is not known
  GpuOffer gpus = {};
};

Hardware this_hardware();

// More threads than cores; GPUs that it has not; a format of numbers that only a GPU has, or that
// is slow here.
Diagnostics machine_problems(const ResolvedRecipe& recipe,
                             const Hardware& hardware = this_hardware());

// Of the machine, on which all ranks are, or the smallest GPU, which is one rank's
// (recipe/rules/capacity.h).
Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const Hardware& hardware = this_hardware());

}  // namespace exprun
