// Which optimizer steps which parameter: [optimizer] itself and its named groups; or none, for
// frozen ones.
#pragma once

#include <string>
#include <vector>

#include "engine/parameter.h"
#include "recipe/section.h"

namespace exprun {

struct OptimizerGroup {
  std::string name;  // "default" for [optimizer] itself
  Section section;   // with `type` and its keys
  std::vector<Parameter> decayed;
  std::vector<Parameter> undecayed;
};

// Freezes the parameters that `frozen` of [optimizer] matches, and returns all that are frozen:
// beside an adapter the model's own already were. Throws RecipeError where a glob matches none, or
// where nothing is left to train.
std::vector<Parameter> freeze(const Section& optimizer, const std::vector<Parameter>& parameters);

// Puts each parameter that is not frozen into exactly one group. Throws RecipeError that names a
// parameter in none or in two, a group that matches nothing, and a matrix-wise optimizer that would
// get a vector.
std::vector<OptimizerGroup> optimizer_groups(const Section& optimizer,
                                             const std::vector<Parameter>& parameters);

}  // namespace exprun
