// SQLite's door to the operating system, with a fault in it: the N-th operation of a kind fails,
// once or from then on, or ends the process. While it lives, every connection that is opened goes
// through it. Syncs are counted but not carried out: the machine stays up in these tests.
#pragma once

#include <cstdint>
#include <functional>

namespace exprun {

class FaultyVfs {
 public:
  enum class Operation { any, write, sync, lock, truncate };
  enum class Fault {
    io_error,     // SQLITE_IOERR of its kind
    disk_full,    // SQLITE_FULL, of writes
    short_write,  // half of it is written, then SQLITE_FULL
    death         // SIGKILL in the middle of it: of a write, half is written
  };

  FaultyVfs();
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  // The `nth` operation (from 1) counted from now on is the first to fail.
  void arm(Operation operation, Fault fault, int64_t nth, bool for_ever);
  void disarm();
  bool has_struck() const;

  // Whether a process that does this dies in its `nth` operation, of any kind. Where it lives on,
  // it must have come to its end: an Error is a failure of the test.
  bool dies_at(int64_t nth, const std::function<void()>& action);
};

}  // namespace exprun
