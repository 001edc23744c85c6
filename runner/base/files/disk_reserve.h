// Room that is kept on a disk for commands that free more of it: what they remove they first record
// in the store, which takes room itself.
#pragma once

#include <filesystem>

namespace exprun {

// Makes the file that keeps 256 KiB, unless it is there or the disk, or the user's quota, has
// little left.
void keep_disk_reserve(const std::filesystem::path& file);

// Where the disk is about full, or the quota used up, the file is removed until the end of this; it
// comes back, smaller if need be, if there is room then.
class UsedDiskReserve {
 public:
  explicit UsedDiskReserve(std::filesystem::path file);
  ~UsedDiskReserve();
  UsedDiskReserve(const UsedDiskReserve&) = delete;
  UsedDiskReserve& operator=(const UsedDiskReserve&) = delete;

 private:
  std::filesystem::path file_;  // empty where nothing was removed
};

}  // namespace exprun
