// The line that says what a new run does otherwise than the newest run of its name.
#pragma once

#include <string>
#include <vector>

#include "recipe/resolved.h"
#include "store/store.h"

namespace exprun {

// "new run; against quickstart-1a2b3c4d: optimizer.lr: 0.0003 (was 0.001)"; empty if none has it.
std::string difference_from_newest(const Store& store, const ResolvedRecipe& resolved);

// What is told of two runs by the keys that one of them changed; a key that the other left alone
// has its default there, and one that it does not know is not set.
std::string describe_difference(const std::vector<ParameterRow>& now,
                                const std::vector<ParameterRow>& before, const std::string& run);

}  // namespace exprun
