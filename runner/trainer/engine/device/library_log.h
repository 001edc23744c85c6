// What LibTorch, and Gloo in it, write to standard error by itself.
#pragma once

#include "base/log.h"

namespace exprun {

// Nothing, as what it throws is shown in words of our own; its warnings and errors, with their
// stacks, where people ask for all that can be said.
void set_library_log(LogLevel level);

}  // namespace exprun
