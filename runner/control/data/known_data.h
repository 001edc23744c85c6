// Public files that shipped recipes read, and where to get them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace exprun {

// The command that brings a missing file to `file`, if its name is known.
std::optional<std::string> command_to_get(const std::filesystem::path& file);

}  // namespace exprun
