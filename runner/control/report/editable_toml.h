// A resolved recipe as TOML that a user may change and run.
#pragma once

#include <map>
#include <string>

#include "recipe/resolved.h"

namespace exprun {

// What follows from other keys or from the data, by path, as TOML; not the name of the run.
std::map<std::string, std::string> derived_values(const ResolvedRecipe& recipe);

// The text of to_toml() with "auto" in place of these values, which stand behind it: after another
// key is changed they follow from what it is then.
//   head_dim = "auto"  # derived: 32
// Read back it is the same recipe. Throws RecipeError for a text that is no TOML.
std::string editable_toml(const std::string& toml,
                          const std::map<std::string, std::string>& derived);

}  // namespace exprun
