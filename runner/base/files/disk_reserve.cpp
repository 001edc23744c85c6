#include "base/files/disk_reserve.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <system_error>
#include <utility>

#include "base/files/file.h"

namespace exprun {
namespace {

constexpr int64_t kBytes = int64_t{256} << 10, kLeastBytes = kBytes / 4;
constexpr int64_t kPlenty = 64 * kBytes;  // a disk with less is not made fuller

void make(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd) return;  // it is there, or nothing can be written here
  for (int64_t bytes = kBytes; bytes >= kLeastBytes; bytes /= 2)
    if (::posix_fallocate(fd.get(), 0, bytes) == 0) return;
  ::unlink(file.c_str());
}

}  // namespace

void keep_disk_reserve(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored) && free_space(folder_of(file)) > kPlenty) make(file);
}

UsedDiskReserve::UsedDiskReserve(std::filesystem::path file) {
  const auto left = free_space(folder_of(file));
  if (left && *left < 4 * kBytes && ::unlink(file.c_str()) == 0) file_ = std::move(file);
}

UsedDiskReserve::~UsedDiskReserve() {
  if (!file_.empty()) make(file_);
}

}  // namespace exprun
