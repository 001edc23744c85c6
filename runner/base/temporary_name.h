// What files and folders are called until they are whole.
#pragma once

#include <filesystem>

namespace exprun {

inline constexpr const char* kTemporary = ".tmp-";

// "<target>.tmp-<pid>-<number>": unique among processes and threads.
std::filesystem::path temporary_name(const std::filesystem::path& target);

bool is_temporary(const std::filesystem::path& path);

}  // namespace exprun
