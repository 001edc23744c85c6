// What rank 0 tells the others when it does not train.
#pragma once

#include <string>

#include "base/exit_code.h"

namespace exprun {

// With what exit code they end, and the failure that is the cause, if there was one: it goes into
// the files in which torchrun looks for that.
struct Dismissal {
  ExitCode code = ExitCode::done;
  std::string why;
};

}  // namespace exprun
