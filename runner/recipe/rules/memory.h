// Whether a run fits in memory: a warning of `exprun check`, and of a run as it starts.
#pragma once

#include <cstdint>
#include <string>

#include "base/diagnostic.h"
#include "recipe/resolved.h"

namespace exprun {

// What a rank is planned to take, in bytes.
struct PlannedMemory {
  double of_model = 0;  // weights, gradients, optimizer
  double activations = 0;
};

// Memory, and the ranks that share it.
struct MemoryRoom {
  std::string where;  // "this machine"
  double bytes = 0;   // 0 if it is not known: then everything fits
  int64_t ranks = 1;
};

// At most one. What to change is the number of ranks where one of them fits.
Diagnostics memory_problems(const ResolvedRecipe& recipe, const PlannedMemory& planned,
                            const MemoryRoom& room);

}  // namespace exprun
