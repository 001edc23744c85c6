// Public files that shipped recipes read, and where to get them.
#pragma once

#include <optional>
#include <string>

namespace exprun {

// The command that brings a missing file, or files of a pattern, if their names are known.
std::optional<std::string> command_to_get(const std::string& pattern);

}  // namespace exprun
