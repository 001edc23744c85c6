// The files of both splits that a recipe names, and those that are in both.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "control/data/sources.h"
#include "recipe/value.h"

namespace exprun {

struct SplitSources {
  std::vector<Source> train, validation;
};

// What `validation` (null: nothing) names without a glob is left out of the globs of `train`, by
// whatever name they find it. Throws one RecipeError for all that is missing, or if nothing is left
// to train on.
SplitSources find_split_sources(const Value& train, const Value* validation,
                                const std::string& libtorch);

// A warning at the first file that is read into both splits.
Diagnostics trained_validation(const SplitSources& sources);

}  // namespace exprun
