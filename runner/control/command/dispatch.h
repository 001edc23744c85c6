// From a command line to the command that it names.
#pragma once

#include "control/command/command.h"

namespace exprun {

// Returns the exit code. A first word that is no command and names a recipe runs it.
int dispatch(Words words);

}  // namespace exprun
