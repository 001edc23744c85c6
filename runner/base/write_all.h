// write(2) until everything is written.
#pragma once

#include <cstddef>
#include <filesystem>

namespace exprun {

// Throws Error that names `shown`: the file as its user knows it.
void write_all(int fd, const void* bytes, size_t size, const std::filesystem::path& shown);

}  // namespace exprun
