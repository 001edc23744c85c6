// What a recipe asks and this machine has not. The recipe is no worse for it: an error is what
// keeps a run from starting here.
#pragma once

#include <cstdint>
#include <string>

#include "base/diagnostic.h"
#include "control/launch/run_device.h"
#include "recipe/capacity.h"
#include "recipe/resolved.h"

namespace exprun {

// What a machine has for this process.
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

// Evaluations that take longer than the training, by `flops_per_token` of training as planned:
// those that do although they read few tokens. evaluations_take_less_than_training() has the
// others.
Diagnostics evaluation_problems(const ResolvedRecipe& recipe, const DatasetInfo& dataset_info,
                                double flops_per_token, const Hardware& hardware = this_hardware());

// Of the machine, on which all ranks are, or the smallest GPU, which is one rank's
// (recipe/capacity.h).
Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const Hardware& hardware = this_hardware());

}  // namespace exprun
