// Locks that do not say what the store says, for `doctor`.
#pragma once

#include <string>
#include <vector>

#include "control/launch/store_folder.h"
#include "store/store.h"

namespace exprun {

// "tiny-1a2b3c4d (id 3) has ended ...": runs recorded as running that nobody holds, and ended ones
// that somebody does.
std::vector<std::string> stale_locks(const Store& store, const StoreFolder& folder,
                                     std::vector<RunRow> runs);

// "free", or that somebody keeps the lock of the store.
std::string store_lock(const StoreFolder& folder);

}  // namespace exprun
