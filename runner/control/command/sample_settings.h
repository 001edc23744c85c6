// The settings of `exprun sample`: changes of [evaluation.sample], whose keys stand alone.
#pragma once

#include "base/diagnostic.h"
#include "control/command/command.h"
#include "recipe/recipe_text.h"

namespace exprun {

inline constexpr const char* kSampleTable = "evaluation.sample";

// Throws RecipeError for keys that the table of `text`, a recipe with it, has not: those that are
// near in other tables are no help.
void require_sample_keys(const RecipeText& text, const Words& settings);

// What there is to say about `text`, whose last overrides are the settings as changes of the table:
// at the places of what was typed.
Diagnostics judged_as_typed(const RecipeText& text, const Words& settings);

}  // namespace exprun
