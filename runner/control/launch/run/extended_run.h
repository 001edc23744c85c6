// Extending a run: it trains on with another length, or where early stopping ended it. Allowed
// where the completed steps would have been the same, learning rates too, so that the run equals
// one that began with the new recipe.
#pragma once

#include <string>
#include <vector>

#include "control/launch/store_folder.h"
#include "recipe/resolved.h"
#include "store/store.h"

namespace exprun {

// Whether all that differs is the length (run.steps, run.length, schedule.decay_until) and early
// stopping that waits_longer().
bool is_extension(const ResolvedRecipe& before, const ResolvedRecipe& now);

// Whether early stopping has more patience, or is no more: it ends no run where it did before.
bool waits_longer(const ResolvedRecipe& before, const ResolvedRecipe& now);

// Throws Error where the run is a trial: the others of its sweep are compared with what it is now.
// `words` are the changes as they were typed.
void require_no_trial(const Store& store, const StoreFolder& folder, const RunRow& run,
                      const std::vector<std::string>& words);

// Compares the factors of every step up to the newest checkpoint, exactly. Throws Error that names
// the first step whose rate would have been another, or that nothing is left to train.
void require_same_past(const StoreFolder& folder, const RunRow& run, const RecipeText& before,
                       const RecipeText& now, const std::vector<std::string>& words);

// The change by which a run that ended early goes on: twice its patience.
std::string more_patience(const ResolvedRecipe& recipe);

// What trains a finished run twice as long, for a list of commands that come next: resume where a
// longer run has the same rates so far, as far as the recipe alone says, or else fork, as of a
// trial. `option` is the one that names the store (store_option).
std::string offer_of_twice_the_length(const Store& store, const RunRow& run,
                                      const ResolvedRecipe& recipe, const std::string& option);

}  // namespace exprun
