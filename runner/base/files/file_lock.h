// An OFD lock on the first byte of a file, exclusive unless it says so, for as long as any
// descriptor of the open file lives: the kernel drops it at the death of the last process that
// holds it, so a crash is known at once.
#pragma once

#include <fcntl.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/files/file.h"

namespace exprun {

class FileLock {
 public:
  // Takes the lock of `file` (made if missing), or nothing if another holds it.
  // Throws Error when the file cannot be opened.
  static std::optional<FileLock> try_take(const std::filesystem::path& file);

  // Waits for the lock.
  static FileLock take(const std::filesystem::path& file);

  // Waits for the lock, but not longer than `patience`: a holder may be stopped for ever. The
  // kernel gives a free lock to whichever process runs first. For fairness a process that has
  // waited for 0.5 s closes a gate (a read lock of the second byte), and later ones stay behind the
  // gate until those before it have had the lock. They stay for 0.25 s at most, and for no more
  // than half of their patience, since a process that closed the gate may be stopped too.
  static std::optional<FileLock> take_within(const std::filesystem::path& file,
                                             std::chrono::milliseconds patience);

  // One that others may share, but nobody take; nothing where it is taken, or the file is missing.
  // The file need not be writable. Throws Error when it cannot be opened.
  static std::optional<FileLock> try_share(const std::filesystem::path& file);

  // Whether somebody holds the lock of `file`, or shares it; a missing file is not held.
  static bool held(const std::filesystem::path& file);

  // A lock handed over by descriptor from the launcher.
  static FileLock adopt(int fd) { return FileLock(UniqueFd(fd)); }

  // Whether `file` names what is locked. Who waited for the lock of a file that may be renamed or
  // removed may have got that of one which has another name by now, or none.
  bool is_of(const std::filesystem::path& file) const;

  int fd() const { return fd_.get(); }

 private:
  explicit FileLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// The same with a file that is there only as long as somebody holds the lock or was killed with it.
class TransientLock {
 public:
  // As those of FileLock.
  static std::optional<TransientLock> try_take(const std::filesystem::path& file);
  static TransientLock take(const std::filesystem::path& file);
  // Removes the file, under the lock.
  ~TransientLock();
  TransientLock(TransientLock&&) noexcept = default;
  TransientLock& operator=(TransientLock&&) = delete;

 private:
  TransientLock(std::filesystem::path file, FileLock lock)
      : file_(std::move(file)), lock_(std::move(lock)) {}
  std::filesystem::path file_;
  FileLock lock_;
};

// One byte of a file, for fcntl's F_OFD_SETLK; `type` is F_RDLCK, F_WRLCK or F_UNLCK.
struct flock byte_range(off_t byte, int type);

}  // namespace exprun
