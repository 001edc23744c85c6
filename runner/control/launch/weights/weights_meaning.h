// Whether the weights that a run begins with still mean in it what they were trained to mean.
#pragma once

#include <filesystem>

#include "base/diagnostic.h"
#include "recipe/resolved.h"
#include "text/prepared_data.h"

namespace exprun {

// Warns where the run of the `checkpoint` that a fork goes on from was trained on tokens that mean
// other characters than those of `data`. Of subwords nothing is said: their names may differ.
void warn_of_other_characters(const std::filesystem::path& checkpoint, const PreparedData& data);

// A warning at each key of [model] by which the same tensors compute something else than the model
// that `weights` (a checkpoint of a run or a file in it, a HuggingFace folder) are of. Nothing of
// other weights.
Diagnostics other_model(const std::filesystem::path& weights, const ResolvedRecipe& recipe);

}  // namespace exprun
