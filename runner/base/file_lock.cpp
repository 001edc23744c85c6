#include "base/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/file_error.h"

namespace exprun {
namespace {

struct flock range_of(LockedBytes bytes, short type) {
  struct flock range = {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = bytes.first;
  range.l_len = bytes.count;
  return range;
}

UniqueFd open_lock_file(const std::filesystem::path& file) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd) throw file_error("open the lock file", file);
  return fd;
}

// False when another holds the lock and the command did not wait.
bool is_locked(int error, const std::filesystem::path& file) {
  if (error == EAGAIN || error == EACCES) return false;
  if (error != 0) throw file_error("lock", file, error);
  return true;
}

// A thread of its own waits in the kernel, because a wait for a file lock has no time limit of its
// own and polling would starve under contention. Whoever gives up leaves the descriptor to it.
struct Waiter {
  Waiter(UniqueFd descriptor, FileLock::Acquire how)
      : fd(std::move(descriptor)), acquire(std::move(how)) {}

  std::mutex mutex;
  std::condition_variable changed;
  UniqueFd fd;
  FileLock::Acquire acquire;
  bool done = false;
  bool given_up = false;
  int error = 0;
};

void wait_in_kernel(const std::shared_ptr<Waiter>& waiter) {
  const int error = waiter->acquire(waiter->fd.get(), F_OFD_SETLKW);
  std::lock_guard guard(waiter->mutex);
  waiter->done = true;
  waiter->error = error;
  if (waiter->given_up) waiter->fd = UniqueFd();  // nobody wants the lock any more
  waiter->changed.notify_one();
}

}  // namespace

int lock_bytes(int fd, int command, LockedBytes bytes) {
  struct flock range = range_of(bytes, F_WRLCK);
  while (::fcntl(fd, command, &range) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

void unlock_bytes(int fd, LockedBytes bytes) {
  struct flock range = range_of(bytes, F_UNLCK);
  ::fcntl(fd, F_OFD_SETLK, &range);
}

std::optional<FileLock> FileLock::try_take(const std::filesystem::path& file) {
  UniqueFd fd = open_lock_file(file);
  if (!is_locked(lock_whole_file(fd.get(), F_OFD_SETLK), file)) return std::nullopt;
  return FileLock(std::move(fd));
}

FileLock FileLock::take(const std::filesystem::path& file) {
  UniqueFd fd = open_lock_file(file);
  is_locked(lock_whole_file(fd.get(), F_OFD_SETLKW), file);
  return FileLock(std::move(fd));
}

std::optional<FileLock> FileLock::take_within(const std::filesystem::path& file,
                                              std::chrono::milliseconds patience, Acquire acquire) {
  UniqueFd fd = open_lock_file(file);
  if (is_locked(acquire(fd.get(), F_OFD_SETLK), file)) return FileLock(std::move(fd));
  if (patience.count() <= 0) return std::nullopt;

  auto waiter = std::make_shared<Waiter>(std::move(fd), std::move(acquire));
  std::thread(wait_in_kernel, waiter).detach();
  std::unique_lock guard(waiter->mutex);
  if (!waiter->changed.wait_for(guard, patience, [&] { return waiter->done; })) {
    waiter->given_up = true;
    return std::nullopt;
  }
  if (waiter->error != 0) throw file_error("lock", file, waiter->error);
  return FileLock(std::move(waiter->fd));
}

bool FileLock::held(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    throw file_error("open the lock file", file);
  }
  struct flock range = range_of({}, F_WRLCK);
  if (::fcntl(fd.get(), F_OFD_GETLK, &range) != 0) throw file_error("ask for the lock of", file);
  return range.l_type != F_UNLCK;
}

}  // namespace exprun
