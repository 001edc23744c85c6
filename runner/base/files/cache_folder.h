// Where files lie that can be made anew at any time.
#pragma once

#include <filesystem>
#include <optional>

namespace exprun {

// $XDG_CACHE_HOME/exprun if that is an absolute path, else ~/.cache/exprun, whether it is there or
// not; nothing where neither variable is set.
std::optional<std::filesystem::path> cache_folder();

// Notes that a file of the cache is used: its time of change tells, to a day.
void mark_used(const std::filesystem::path& file);

// Removes the files of a folder of the cache that nobody has used for a month, and those that
// killed processes were writing a day ago.
void remove_unused(const std::filesystem::path& folder);

}  // namespace exprun
