// Runs as they really stand: one that is recorded as running, and whose lock is free, has crashed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/file_lock.h"
#include "control/launch/store_folder.h"
#include "store/store.h"

namespace exprun {

// For readers: the row is shown as it is, not changed.
RunRow observed(const Store& store, const StoreFolder& folder, RunRow run);

// For writers: an end that nobody could record is recorded.
RunRow settled(Store& store, const RunRow& run);

// Runs of that name and hash, settled, newest first.
std::vector<RunRow> settled_runs(Store& store, const std::string& name,
                                 const std::string& recipe_hash);

// "is running (process 17 on box)"; of another host, when it was last seen alive.
std::string is_running(const RunRow& run);

// The lock of a run that has ended, so that nobody continues it meanwhile; nothing where its folder
// is gone or somebody holds the lock: `is_free` tells them apart.
struct HeldRun {
  std::optional<FileLock> lock;
  bool is_free = true;
};
HeldRun hold(const StoreFolder& folder, const RunRow& run);

}  // namespace exprun
