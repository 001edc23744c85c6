// The lock under which every write transaction and every WAL checkpoint runs, given in the order in
// which it was asked for.
//
// A plain file lock goes to whoever runs when it is let go: on a busy machine a writer that has
// just written and comes again is faster than one that must first be woken, and with 64 writers
// some wait for seconds. So whoever comes draws a ticket, locks the byte of its ticket, and waits
// for the byte of the ticket before: it is let go when that process is done, gives up or dies. Byte
// 0 is the lock itself; the queue only orders who asks for it, so that a program that takes byte 0
// alone is right, only less polite.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/file_lock.h"

namespace exprun {

// Waits for the lock in `file`, but not longer than `patience`. Throws Error when the file cannot
// be opened or locked.
std::optional<FileLock> take_turn(const std::filesystem::path& file,
                                  std::chrono::milliseconds patience);

}  // namespace exprun
