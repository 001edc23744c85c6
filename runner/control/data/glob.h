// Files by pattern.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace exprun {

// Whether `pattern` has any of * ? [.
bool is_glob(const std::string& pattern);

// The regular files that match, sorted by name. * ? [] stay within one name and skip hidden
// ones; ** stands for any number of folders, links not followed. Throws Error for a folder that
// cannot be read.
std::vector<std::filesystem::path> matching_files(const std::string& pattern);

// What stands in a pattern before the names that match all those of `path`: "data/" of
// "data/web/a_*.bin" for "web/a_1.bin". Nothing if they do not match.
std::optional<std::string> start_before(const std::string& pattern, const std::string& path);

}  // namespace exprun
