// RECIPE [key=value...] of a command line, read and resolved.
#pragma once

#include "control/command/command.h"
#include "control/launch/launch.h"

namespace exprun {

// Warnings of the recipe are printed. Throws RecipeError.
LaunchRequest request_for(RecipeText text, const Globals& globals);

// Throws Error (wrong usage) for a word that is no override: "lr 3e-4" has lost its "=".
void require_overrides(const Words& words, const std::string& command);

}  // namespace exprun
