// The end of a log, for people.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace exprun {

// At most `count` lines of the last 16 KiB; none where there is no such file. Empty ones are left
// out, and what LibTorch logs by itself: "[W1122 ... socket.cpp:469] ...", with its stacks.
std::vector<std::string> last_lines(const std::filesystem::path& file, size_t count);

}  // namespace exprun
