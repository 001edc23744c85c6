// The lock of a run: run.lock in its folder. The launcher takes it before the row says "running"
// (new_run.cpp, continued_run.cpp), and the trainer inherits it (supervise.cpp): it is held as long
// as either lives. No call releases it: the kernel does when the last of them has ended. A run that
// is recorded as running, and whose lock is free, has crashed. That holds on this host: of a run on
// another one, or one whose folder somebody removed, only silence tells (store/run_state.h), until
// its job is restarted elsewhere (ranks/restart_detection.h) or somebody says that its machine is
// gone (exprun stop --lost).
#pragma once

#include <optional>
#include <string>

#include "base/files/file_lock.h"
#include "base/files/run_folder.h"
#include "control/launch/store_folder.h"
#include "store/rows.h"
#include "store/store.h"

namespace exprun {

// Throws Error if somebody else has it.
FileLock lock_new_run(const RunFolder& folder);

// Waits for the processes of a run that has ended, which let go of its lock after its end is
// recorded. Throws Error that says where the run trains, or that its folder is gone; `instead` is
// what to do then.
FileLock lock_to_continue(const Store& store, const RunFolder& folder, const RunRow& run,
                          const std::string& instead);

// The lock of a run that has ended, so that nobody continues it meanwhile; nothing where its folder
// is gone or somebody holds the lock: `is_free` tells them apart.
struct HeldRun {
  std::optional<FileLock> lock;
  bool is_free = true;
};
HeldRun hold_ended_run(const StoreFolder& folder, const RunRow& run);

}  // namespace exprun
