// Sections of recipes written in a test.
#pragma once

#include <string>
#include <vector>

#include "recipe/resolved.h"

namespace exprun {

// Resolves a recipe given as TOML, in a file named "test.toml".
ResolvedRecipe resolve_text(const std::string& toml, const DatasetInfo& dataset_info = {},
                            const SchemaSet& schemas = SchemaSet::embedded());

// A whole recipe around one component: [kind] of `type` with its required keys from the examples of
// its schema, and `keys` (TOML lines) besides.
ResolvedRecipe recipe_with(const std::string& kind, const std::string& type,
                           const std::string& keys = "", int64_t steps = 10);

}  // namespace exprun
