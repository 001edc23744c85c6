// Whether the trials of a sweep could start here, asked before the first of them does.
#pragma once

#include <vector>

#include "control/launch/store_folder.h"
#include "control/sweep/trials.h"

namespace exprun {

// For trials that begin. Throws RecipeError with all of their data, evaluation files and weights
// that are missing, with weights that do not fit the model (each model is asked for once, which
// takes some tenths of a second), and, where trials differ in which components they have, with
// those that do not fit together (of the first combinations); Error.
void require_startable(const std::vector<const Trial*>& trials, const StoreFolder& folder);

}  // namespace exprun
