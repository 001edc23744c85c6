// SHA-256 (FIPS 180-4): what publishers give for their files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace exprun {

std::string sha256_hex(std::string_view bytes);
// Throws Error.
std::string sha256_file_hex(const std::filesystem::path& file);

}  // namespace exprun
