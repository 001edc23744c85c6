// The end of a log, for people.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace exprun {

// At most `count` lines that are not empty, of the last 16 KiB; none where there is no such file.
std::vector<std::string> last_lines(const std::filesystem::path& file, size_t count);

}  // namespace exprun
