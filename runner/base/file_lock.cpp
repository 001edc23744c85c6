#include "base/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/call_limit.h"
#include "base/file_error.h"

namespace exprun {
namespace {

struct flock whole_file() {
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return range;
}

UniqueFd open_lock_file(const std::filesystem::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) throw file_error("open the lock file", file);
  return fd;
}

// False when another holds the lock (F_OFD_SETLK) or a signal ended the wait for it (F_OFD_SETLKW).
bool lock(const UniqueFd& fd, int command, const std::filesystem::path& file) {
  struct flock range = whole_file();
  if (::fcntl(fd.get(), command, &range) == 0) return true;
  if (errno != EAGAIN && errno != EACCES && errno != EINTR) throw file_error("lock", file);
  return false;
}

}  // namespace

std::optional<FileLock> FileLock::try_take(const std::filesystem::path& file) {
  UniqueFd fd = open_lock_file(file);
  if (!lock(fd, F_OFD_SETLK, file)) return std::nullopt;
  return FileLock(std::move(fd));
}

FileLock FileLock::take(const std::filesystem::path& file) {
  UniqueFd fd = open_lock_file(file);
  while (!lock(fd, F_OFD_SETLKW, file)) continue;
  return FileLock(std::move(fd));
}

std::optional<FileLock> FileLock::take_within(const std::filesystem::path& file,
                                              std::chrono::milliseconds patience) {
  UniqueFd fd = open_lock_file(file);
  bool locked = lock(fd, F_OFD_SETLK, file);
  if (!locked && patience.count() > 0) {
    const CallLimit limit(patience);
    while (!locked && !limit.is_over()) locked = lock(fd, F_OFD_SETLKW, file);
  }
  return locked ? std::optional(FileLock(std::move(fd))) : std::nullopt;
}

bool FileLock::held(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw file_error("open the lock file", file);
  }
  struct flock range = whole_file();
  if (::fcntl(fd.get(), F_OFD_GETLK, &range) != 0) throw file_error("ask for the lock of", file);
  return range.l_type != F_UNLCK;
}

}  // namespace exprun
