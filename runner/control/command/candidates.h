// What fits where a command line is being typed, for the completion of shells.
#pragma once

#include "control/command/command.h"

namespace exprun {

// `typed` is the line behind "exprun"; its last word is the unfinished one, maybe empty. Prints all
// that fits the place.
void complete(Words typed);

// One a line; what has more lines cannot be told.
void print_candidates(const Words& candidates);

}  // namespace exprun
