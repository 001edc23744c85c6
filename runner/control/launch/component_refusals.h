// What the components of a recipe refuse of each other. The trainer knows, and is asked before
// there is a run.
#pragma once

#include "base/dataset_info.h"
#include "base/diagnostic.h"
#include "recipe/recipe_text.h"
#include "recipe/resolved.h"

namespace exprun {

// Whether the recipe names parameters of the model, or its optimizer updates only some: any other
// is right if its schemas and rules say so.
bool may_be_refused(const ResolvedRecipe& recipe);

// At the places of the recipe, which has no other mistakes. Before the data are prepared, as far as
// that is known without them; nothing where the trainer cannot answer: it says so when it starts.
Diagnostics component_refusals(const RecipeText& text, const DatasetInfo& dataset_info);

}  // namespace exprun
