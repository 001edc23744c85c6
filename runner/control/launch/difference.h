// The line that says what a new run does otherwise than the newest run of its name.
#pragma once

#include <string>

#include "recipe/resolved.h"
#include "store/store.h"

namespace exprun {

// "new run; against quickstart-1a2b3c4d: optimizer.lr: 0.0003 (was 0.001)"; empty if none has it.
std::string difference_from_newest(const Store& store, const ResolvedRecipe& resolved);

// What is told of two lists of (path, value); a path that is missing is not set.
std::string describe_difference(const std::vector<std::pair<std::string, std::string>>& now,
                                const std::vector<std::pair<std::string, std::string>>& before,
                                const std::string& run);

}  // namespace exprun
