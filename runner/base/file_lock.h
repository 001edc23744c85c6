// An exclusive OFD lock on a file, for as long as any descriptor of the open file lives: the kernel
// drops it at the death of the last process that holds it, so a crash is known at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "base/unique_fd.h"

namespace exprun {

// Bytes of a file; they need not exist.
struct LockedBytes {
  int64_t first = 0;
  int64_t count = 0;  // 0: to the end, however far that is
};

// An exclusive lock on them with F_OFD_SETLK or F_OFD_SETLKW: 0, or an error number.
int lock_bytes(int fd, int command, LockedBytes bytes);
void unlock_bytes(int fd, LockedBytes bytes);

class FileLock {
 public:
  // What makes an open file a held lock: called with F_OFD_SETLK, and, when it answers EAGAIN, once
  // more with F_OFD_SETLKW to go on from there. 0, or an error number.
  using Acquire = std::function<int(int fd, int command)>;

  // Takes the lock of `file` (made if missing), or nothing if another holds it.
  // Throws Error when the file cannot be opened.
  static std::optional<FileLock> try_take(const std::filesystem::path& file);

  // Waits for the lock.
  static FileLock take(const std::filesystem::path& file);

  // Waits for the lock, but not longer than `patience`: a holder may be stopped for ever.
  static std::optional<FileLock> take_within(const std::filesystem::path& file,
                                             std::chrono::milliseconds patience,
                                             Acquire acquire = lock_whole_file);

  // Whether somebody holds the lock of `file`; a missing file is not held.
  static bool held(const std::filesystem::path& file);

  // A lock handed over by descriptor from the launcher.
  static FileLock adopt(int fd) { return FileLock(UniqueFd(fd)); }

  int fd() const { return fd_.get(); }

  static int lock_whole_file(int fd, int command) { return lock_bytes(fd, command, {}); }

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace exprun
