// Token shards that are there already: found, checked, and known by their content.
#pragma once

#include <string>

#include "recipe/resolved.h"
#include "text/prepared_data.h"

namespace exprun {

// Finds the shards of both splits and reads their headers. Throws RecipeError.
PreparedData find_shards(const ResolvedRecipe& recipe, const std::string& libtorch);

// Where the recipe names no tokenizer: what the descriptions of the sets say that these shards
// belong to, and the tokens themselves. Throws Error.
void add_vocabulary(const ResolvedRecipe& recipe, const PreparedData& shards,
                    DatasetInfo& dataset_info);

// The same as find_shards with the fingerprint of their content.
PreparedData prepare_shards(const ResolvedRecipe& recipe, const std::string& libtorch);

// Whether the shards that gave a fingerprint still do, and the manifests beside them agree.
bool are_unchanged(const PreparedData& shards);

}  // namespace exprun
