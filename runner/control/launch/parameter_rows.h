// A resolved recipe as the rows that the store keeps of it.
#pragma once

#include <vector>

#include "recipe/resolved.h"
#include "store/rows.h"

namespace exprun {

std::vector<ParameterRow> parameter_rows(const ResolvedRecipe& resolved);

}  // namespace exprun
