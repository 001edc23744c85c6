// Files by pattern.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace exprun {

// Whether `pattern` has any of * ? [.
bool is_glob(const std::string& pattern);

// The regular files that match, sorted by name. * ? [] stay within one name and skip hidden
// ones; ** stands for any number of folders, links not followed. Throws Error for a folder that
// cannot be read.
std::vector<std::filesystem::path> matching_files(const std::string& pattern);

}  // namespace exprun
