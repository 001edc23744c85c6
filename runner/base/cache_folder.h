// Where files lie that can be made anew at any time.
#pragma once

#include <filesystem>
#include <optional>

namespace exprun {

// $XDG_CACHE_HOME/exprun, else ~/.cache/exprun, whether it is there or not; nothing where neither
// variable is set.
std::optional<std::filesystem::path> cache_folder();

}  // namespace exprun
