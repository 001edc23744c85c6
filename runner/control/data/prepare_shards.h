// Token shards that are there already: found, checked, and known by their content.
#pragma once

#include <optional>
#include <string>

#include "recipe/paths.h"
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

// Nothing where the validation shards of `data`, which a run recorded, are in their places and as
// they were; else the same data with those that the recipe finds now, and with its tokenizer. The
// shards have their hashes. No
// training shard is looked at. Throws RecipeError for what is missing or damaged, Error for shards
// that hold something else.
std::optional<PreparedData> with_validation_found(const PreparedData& data,
                                                  const ResolvedRecipe& recipe,
                                                  const std::string& libtorch = libtorch_folder());

}  // namespace exprun
