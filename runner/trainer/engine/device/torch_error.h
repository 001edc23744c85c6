// What a failure means to a user.
#pragma once

#include <exception>
#include <string>

#include "base/log.h"

namespace c10 {
class Error;
}

namespace exprun {

// Without the backtrace. Memory that ran out is of the world; all else is a bug of ours.
std::string explain_torch_error(const c10::Error& error);

// Of whatever was thrown: what Error and RecipeError say, memory that ran out, else a bug of ours.
std::string explain_failure(const std::exception& error);

// What LibTorch, and Gloo in it, write to standard error by itself.

// Nothing, as what it throws is shown in words of our own; its warnings and errors, with their
// stacks, where people ask for all that can be said.
void set_library_log(LogLevel level);

}  // namespace exprun
