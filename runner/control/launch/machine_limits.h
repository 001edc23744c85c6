// What a recipe asks and this machine has not. The recipe is no worse for it.
#pragma once

#include <cstdint>

#include "control/launch/store_folder.h"
#include "recipe/resolved.h"

namespace exprun {

// More threads than cores.
Diagnostics machine_problems(const ResolvedRecipe& recipe);

// A disk without room for the checkpoints that stay and the one that is being written.
Diagnostics disk_problems(const ResolvedRecipe& recipe, int64_t checkpoint_bytes,
                          const StoreFolder& folder);

}  // namespace exprun
