// Runs as they really stand: one that is recorded as running on this host, and whose lock is free,
// has crashed (run_lock.h).
#pragma once

#include <chrono>
#include <string>

#include "control/launch/store_folder.h"
#include "store/rows.h"
#include "store/store.h"

namespace exprun {

// For readers: the row is shown as it is, not changed.
RunRow observed(const Store& store, const StoreFolder& folder, RunRow run);

// For writers: an end that nobody could record is recorded.
RunRow reconciled(Store& store, const RunRow& run);

// Whether the launcher of a run that is running was killed: its trainer saves and ends without it.
bool has_lost_launcher(const RunRow& run);

// Says that it is waited for the trainer of such a run.
void say_if_launcher_is_lost(const RunRow& run);

// How long those who need a run's end wait for a trainer that has lost its launcher.
inline constexpr std::chrono::seconds kPatienceWithTrainer{60};

// Waits, aloud, for the end of a run that has lost its launcher; any other is returned as it is,
// and so is one whose trainer has not ended in time.
RunRow ended_without_launcher(Store& store, RunRow run);

// Its pid means no process here: it is of another host, or of another PID namespace.
bool is_elsewhere(const RunRow& run);

// "is ending: its launcher (process 17 on box) is gone, and its trainer saves":
// has_lost_launcher().
std::string is_ending(const RunRow& run);

// "is running (process 17 on box); " and what to do; of another host, when it was last seen alive,
// and what to do if that host is gone. Of one that has lost its launcher, that it is ending, and to
// wait for that.
std::string is_running(const RunRow& run, const std::string& remedy);

}  // namespace exprun
