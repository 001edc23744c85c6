// Which rank steps which matrix, where an optimizer needs whole ones.
#pragma once

#include <vector>

#include "engine/parameter.h"

namespace exprun {

// A rank for each, so that all have about the same to compute: the costliest first, each to the
// rank with the least so far. The cost is that of multiplying a matrix with itself, as Muon does.
std::vector<int> owners(const std::vector<Parameter>& matrices, int world_size);

}  // namespace exprun
