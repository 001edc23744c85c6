// Mistakes in what a sweep makes of a recipe, said where its user wrote an axis.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "base/diagnostic.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"
#include "recipe/sweep/points_file.h"

namespace exprun {

// Of axes for one key only the last would count, and so of two keys of which a recipe has one. The
// overrides of the recipe have the paths that the keys of the point mean, after others.
Diagnostics given_twice(const SweepPoint& point, const ResolvedRecipe& recipe);

// Where the point has come to the same run as another, `first`, with different values of what makes
// no other run: which of its axes ask for that.
Diagnostics one_run_of(const SweepPoint& point, const ResolvedRecipe& first,
                       const ResolvedRecipe& recipe);

// Diagnostics point at the overrides that were made of a point, the last of `text`: what the user
// wrote is an axis and one of its values.
Diagnostics at_axes(Diagnostics diagnostics, const SweepPoint& point, const RecipeText& text);

// Two are the same that say the same of the same place.
using Said = std::tuple<std::string, uint32_t, uint32_t, std::string>;
Said said(const Diagnostic& diagnostic);

}  // namespace exprun
