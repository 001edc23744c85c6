// What may stand where a command line is being typed: for the completion of shells.
#pragma once

#include <string>
#include <vector>

#include "control/command/command.h"
#include "recipe/recipe_text.h"

namespace exprun {

// `typed` is the line behind "exprun"; its last word is the unfinished one, maybe empty. All that
// fits the place: the shell keeps what begins like the last word. A key ends in '=', a folder in
// '/'. What cannot be read (a recipe with mistakes, no store) offers nothing.
std::vector<std::string> candidates(Words typed);

// The part that a recipe decides: keys to override, and the values of one.
std::vector<std::string> override_candidates(const RecipeText& recipe, const std::string& last);

}  // namespace exprun
