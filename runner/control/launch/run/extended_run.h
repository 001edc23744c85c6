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

// What trains a finished run twice as long, for a list of commands that come next: resume where a
// longer run has the same rates so far, as far as the recipe alone says, or else fork. `store` is
// the option that names it (store_option).
std::string offer_of_twice_the_length(const RunRow& run, const ResolvedRecipe& recipe,
                                      const std::string& store);

}  // namespace exprun
