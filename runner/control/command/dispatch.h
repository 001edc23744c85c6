// From a command line to the command that it names.
#pragma once

#include "control/command/command.h"

namespace exprun {

// Returns the exit code. A first word that is no command and names a recipe runs it.
int dispatch(Words words);

// Whether a word means a recipe file: it ends in .toml, or something lies there.
bool names_recipe(const std::string& word);

}  // namespace exprun
