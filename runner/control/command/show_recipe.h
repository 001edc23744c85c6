// What `exprun show` prints of a recipe.
#pragma once

#include <string>

#include "recipe/resolved.h"

namespace exprun {

// Every key with its value and the place that it comes from.
std::string recipe_with_origins(const ResolvedRecipe& recipe);

// Hash and recipe; each key's place too when `origins`.
std::string recipe_json(const ResolvedRecipe& recipe, bool origins);

// Prints the keys in which two are different experiments.
void print_difference(const ResolvedRecipe& a, const ResolvedRecipe& b, const std::string& name_a,
                      const std::string& name_b, bool json);

}  // namespace exprun
