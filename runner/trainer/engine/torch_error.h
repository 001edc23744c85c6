// What a failure inside LibTorch means to a user.
#pragma once

#include <string>

namespace c10 {
class Error;
}

namespace exprun {

// Without the backtrace. Memory that ran out is of the world; all else is a bug of ours.
std::string explain_torch_error(const c10::Error& error);

}  // namespace exprun
