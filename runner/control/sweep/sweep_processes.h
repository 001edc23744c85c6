// The processes that run the trials of a sweep. Each holds the lock of a file of its own in
// sweeps/ of the store's folder, so that its death is known at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/files/file_lock.h"
#include "control/launch/store_folder.h"

namespace exprun {

struct SweepProcess {
  std::string host;
  int64_t pid = 0;
};

// Makes this process one of them for as long as the lock lives. Throws Error.
TransientLock join_sweep(const StoreFolder& folder, const std::string& uid);

// Those that live.
std::vector<SweepProcess> sweep_processes(const StoreFolder& folder, const std::string& uid);

}  // namespace exprun
