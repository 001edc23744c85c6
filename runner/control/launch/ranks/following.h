// The ranks above 0 where rank 0 is started elsewhere.
#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "control/launch/ranks/joined_rank.h"

namespace exprun {

// The hash of the recipe that a rank above 0 was started with, to be compared with rank 0's;
// nothing where its command names none.
using OwnHash = std::optional<std::string>;

// This process becomes the trainer of a rank above 0. Throws Error when it cannot.
[[noreturn]] void follow(const JoinedRank& joined, const OwnHash& recipe, LogLevel level);

// The ranks of a machine without rank 0, to their end; restarted when those of rank 0's machine
// are, as often as rank 0's recipe says. Returns the exit code. Throws Error.
int follow_with_all(JoinedRank joined, const OwnHash& recipe, LogLevel level);

}  // namespace exprun
