// What a recipe asks and this machine has not. The recipe is no worse for it.
#pragma once

#include <cstdint>
#include <string>

#include "control/launch/gpu_offer.h"
#include "recipe/resolved.h"

namespace exprun {

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

// What a rank is planned to take, in bytes.
struct PlannedMemory {
  double of_model = 0;  // weights, gradients, optimizer
  double activations = 0;
};

// More memory than the machine has, on which all ranks are, or than the smallest GPU, which is one
// rank's. What to change is the number of ranks where one of them fits.
Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const Hardware& hardware = this_hardware());

}  // namespace exprun
