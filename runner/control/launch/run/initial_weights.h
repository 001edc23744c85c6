// [model] init_from, before a run begins: whether there is something to begin with.
#pragma once

#include "base/diagnostic.h"
#include "control/launch/store_folder.h"
#include "recipe/resolved.h"

namespace exprun {

// An error at init_from where nothing lies there, or a run's folder does. Where it means a run of
// the store, as other commands do (its name, its folder, @last), the help has the path of the run's
// newest checkpoint. For recipes whose [model] is sound.
Diagnostics initial_weights_problems(const ResolvedRecipe& recipe, const StoreFolder& folder);

}  // namespace exprun
