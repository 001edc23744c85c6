// How the bytes of a file are packed, told by its first ones.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

namespace exprun {

enum class Packing { none, gzip, zstd };

inline constexpr size_t kPackingBytes = 10;  // so many tell it

// Throws Error for what is packed in a way that is not read, and for a name (a.gz, a.zst) that
// promises what the file is not: it would be taken for text.
Packing checked_packing(std::string_view first, const std::filesystem::path& file);

}  // namespace exprun
