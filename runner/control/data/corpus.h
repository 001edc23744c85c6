// The text of a recipe's sources, as one.
#pragma once

#include <string>
#include <vector>

#include "control/data/sources.h"
#include "recipe/resolved.h"

namespace exprun {

// The files of dataset.path. Throws RecipeError.
std::vector<Source> find_text(const ResolvedRecipe& recipe, const std::string& libtorch);

// Their content, joined as it is. Throws RecipeError for a file that cannot be read or, where the
// tokenizer takes characters, is not UTF-8.
std::string read_text(const ResolvedRecipe& recipe, const std::vector<Source>& sources);

}  // namespace exprun
