// What a recipe asks and this machine has not. The recipe is no worse for it.
#pragma once

#include <cstdint>
#include <string>

#include "recipe/resolved.h"

namespace exprun {

struct Hardware {
  int64_t cores = 1;      // that this process may use
  std::string processor;  // its flags (base/processor.h)
};

Hardware this_hardware();

// More threads than cores; a format of numbers that only a GPU has, or that is slow here.
Diagnostics machine_problems(const ResolvedRecipe& recipe,
                             const Hardware& hardware = this_hardware());

}  // namespace exprun
