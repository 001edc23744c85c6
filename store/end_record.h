// How an attempt ended, where the store could not take it (a full disk, a lock that is never given
// back): its trainer, which knows why, and then its launcher leave it in the run's lock file, in
// room that was kept for it, and whoever looks at the run next finds it there and records it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "store/rows.h"

namespace exprun {

struct EndRecord {
  int64_t attempt = 0, ended_ms = 0;
  RunState state = RunState::failed;
  std::optional<int> exit_code, signal;
  std::string message;
};

// Makes room, so that a disk that fills up later cannot refuse the record; without effect on a file
// system that keeps no room. `lock` is the descriptor of the held run.lock.
void reserve_end_record(int lock);

// A long message is cut. Throws Error.
void write_end_record(int lock, const EndRecord& record, const std::filesystem::path& lock_file);

// Calls `in_store`, which records the end in the store, and returns nothing; where that throws
// Error, writes the record into the lock file and returns that error. Throws it where there is no
// lock file to write, and Error where writing fails. `held` is the descriptor of the lock file for
// who has one: the file need not be found, nor opened, again.
std::optional<Error> record_in_store_or_lock_file(const EndRecord& record,
                                                  const std::filesystem::path& lock_file,
                                                  const std::function<void()>& in_store,
                                                  std::optional<int> held = std::nullopt);

// The record of that attempt, if it left one.
std::optional<EndRecord> end_record(const std::filesystem::path& lock_file, int64_t attempt);

}  // namespace exprun
