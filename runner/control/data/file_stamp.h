// What the kernel says of a file, to know whether it changed: device, inode, size, times.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace exprun {

struct FileStamp {
  int64_t device = 0, inode = 0, bytes = 0;
  int64_t modified_seconds = 0, modified_nanoseconds = 0;
  int64_t changed_seconds = 0, changed_nanoseconds = 0;

  bool operator==(const FileStamp&) const = default;
};

// Nothing for what is no regular file.
std::optional<FileStamp> file_stamp(const std::filesystem::path& file);

}  // namespace exprun
