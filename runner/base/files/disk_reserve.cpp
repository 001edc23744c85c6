#include "base/files/disk_reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/files/file.h"

namespace exprun {
namespace {

constexpr int64_t kBytes = int64_t{256} << 10, kLeastBytes = kBytes / 4;
constexpr int64_t kPlenty = 64 * kBytes;  // a disk with less is not made fuller
constexpr int64_t kMore = 4 * kBytes;     // with less beside it the reserve is used

// As far as the system says: not all that it counts as free is there for a user with a quota.
bool may_have_room(const std::filesystem::path& file, int64_t bytes) {
  const auto left = free_space(file.parent_path());
  return !left || *left >= bytes;
}

// Found by taking them, for a moment.
bool has_room(const UniqueFd& fd, int64_t bytes) {
  return ::posix_fallocate(fd.get(), 0, bytes) == 0 && ::ftruncate(fd.get(), kBytes) == 0;
}

bool make(const UniqueFd& fd) {
  for (int64_t bytes = kBytes; bytes >= kLeastBytes; bytes /= 2)
    if (::posix_fallocate(fd.get(), 0, bytes) == 0) return true;
  return false;
}

// Nothing if it is there, or nothing can be written here.
UniqueFd create(const std::filesystem::path& file) {
  return UniqueFd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
}

}  // namespace

void keep_disk_reserve(const std::filesystem::path& file) {
  if (!may_have_room(file, kPlenty)) return;
  if (const UniqueFd fd = create(file); fd && !has_room(fd, kPlenty)) ::unlink(file.c_str());
}

UsedDiskReserve::UsedDiskReserve(std::filesystem::path file) {
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd || (may_have_room(file, kMore) && has_room(fd, kBytes + kMore))) return;
  if (::unlink(file.c_str()) == 0) file_ = std::move(file);
}

UsedDiskReserve::~UsedDiskReserve() {
  if (file_.empty()) return;
  if (const UniqueFd fd = create(file_); fd && !make(fd)) ::unlink(file_.c_str());
}

}  // namespace exprun
