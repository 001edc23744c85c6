// What ends a command, for people and for the shell.
#pragma once

#include <exception>

namespace exprun {

// Shows it on standard error; returns the exit code.
int explain(const std::exception& error);

}  // namespace exprun
