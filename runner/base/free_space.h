// What a disk has left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace exprun {

// Bytes that this user may still write in `folder`, or in what it would be made in; nullopt where
// the system does not say.
std::optional<int64_t> free_space(std::filesystem::path folder);

}  // namespace exprun
