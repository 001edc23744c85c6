// run.tags where a recipe's run is there already: tags make no other run, so they are for that one.
#pragma once

#include <string>
#include <vector>

#include "recipe/resolved.h"
#include "store/rows.h"
#include "store/store.h"

namespace exprun {

// Adds the tags of `now` that neither the run nor the recipe that is stored with it has: one of
// that recipe which the run has not was removed by its user. Returns what it has added.
std::vector<std::string> add_new_tags(Store& store, const RunRow& run, const ResolvedRecipe& now);

// The same, aloud.
void add_new_tags_aloud(Store& store, const RunRow& run, const ResolvedRecipe& now);

}  // namespace exprun
