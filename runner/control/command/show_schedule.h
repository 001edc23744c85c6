// exprun show RECIPE|RUN --schedule
#pragma once

#include <string>

#include "control/command/command.h"
#include "recipe/recipe_text.h"

namespace exprun {

// Prints the learning rates over the run that `text`, the recipe that `what` names, describes.
// Throws Error, also when only data that are not prepared tell how long it is.
void show_schedule(const std::string& what, const RecipeText& text, bool json,
                   const Globals& globals);

}  // namespace exprun
