// Takes the options that every command has out of a command line, wherever they stand.
#pragma once

#include "control/command/command.h"

namespace exprun {

// `words` keeps the rest. Words behind "--" are left alone. Throws Error (wrong usage).
Globals take_globals(Words& words);

}  // namespace exprun
