// `key=value`, `+key=value` and `~key` from the command line, put into a merged recipe. Which key a
// short one means: matching_paths() in schema/key_lookup.h.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "recipe/recipe_text.h"
#include "recipe/schema/schema.h"
#include "recipe/value.h"

namespace exprun {

// In the order given, but what picks a component's `type` first: it decides which keys exist.
// Values are checked later with the rest of the recipe; diagnostics point into the override.
// Returns the overrides with the whole paths of their keys; one that means no key as it was given.
std::vector<std::string> apply_overrides(const SchemaSet& schemas, Table& root,
                                         const RecipeText& text, Diagnostics& diagnostics);

// Of several keys the first of those that were changed last: what the user typed counts more than
// what was stored with a run, and that more than files. A mistake between them is told there.
std::string newest_of(const Table& root, const std::vector<std::string>& paths);

}  // namespace exprun
