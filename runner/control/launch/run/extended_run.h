// Extending a run: it trains on with another length. Allowed where the schedule would have given
// the completed steps the same learning rates, so that the run equals one of the new length.
#pragma once

#include <string>
#include <vector>

#include "control/launch/store_folder.h"
#include "recipe/resolved.h"
#include "store/rows.h"

namespace exprun {

// Whether only run.steps, run.length or schedule.decay_until differ.
bool is_extension(const std::vector<Difference>& differences);

// Compares the factors of every step up to the newest checkpoint, exactly. `words` are the changes
// as they were typed. Throws Error that names the first step whose rate would have been another,
// or that nothing is left to train.
void require_same_past(const StoreFolder& folder, const RunRow& run, const RecipeText& before,
                       const RecipeText& now, const std::vector<std::string>& words);

}  // namespace exprun
