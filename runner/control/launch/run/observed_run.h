// Runs as they really stand: one that is recorded as running, and whose lock is free, has crashed.
#pragma once

#include <string>

#include "control/launch/store_folder.h"
#include "store/rows.h"
#include "store/store.h"

namespace exprun {

// For readers: the row is shown as it is, not changed.
RunRow observed(const Store& store, const StoreFolder& folder, RunRow run);

// For writers: an end that nobody could record is recorded.
RunRow reconciled(Store& store, const RunRow& run);

// "is running (process 17 on box)"; of another host, when it was last seen alive.
std::string is_running(const RunRow& run);

}  // namespace exprun
