// Changes of a recipe where they are being typed: keys, and the values of one.
#pragma once

#include <string>
#include <vector>

#include "control/command/line/offer.h"
#include "recipe/recipe_text.h"

namespace exprun {

// `last` is the unfinished change: "", "lr", "~war", "schedule.type=".
std::vector<std::string> override_completions(const RecipeText& recipe, const std::string& last);

// Only of the keys of a table, which are written without its name: "tokenizer=" of "dataset".
std::vector<std::string> override_completions_in(const std::string& table, const RecipeText& recipe,
                                                 const std::string& last);

namespace offer {

// The recipe, or that of the run, which the first word names, with the changes after it. Throws
// RecipeError or Error.
RecipeText named_recipe(const Typed& typed);

// Of that recipe.
std::vector<std::string> changes(const Typed& typed);

// A recipe and changes of it, or those of what is meant without one.
Offer recipe_or(Offer changes_without);

}  // namespace offer

}  // namespace exprun
