// How many threads compute with a model.
#pragma once

#include <ATen/core/Tensor.h>

#include "engine/model.h"
#include "recipe/resolved.h"

namespace exprun {

// run.threads; "auto" is all of these cores, or one on a CPU where a step of the recipe has so few
// operations that more threads are no faster.
int thread_count(const ResolvedRecipe& recipe, const Model& model, at::Device device, int cores);

}  // namespace exprun
