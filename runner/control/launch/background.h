// A run in the background: in a session of its own, so that neither the terminal nor the shell ends
// it, with all that it says in its log.
#pragma once

#include <functional>

#include "control/launch/launch.h"

namespace exprun {

// What a launch does there, to its exit code; it tells when an attempt has begun.
using BackgroundLaunch = std::function<int(const AttemptBegun& begun)>;

// Starts it, and waits until its trainer trains, or it has ended. Meanwhile what it says is shown,
// and signals to end are passed on. Returns the exit code: 0 for a run that is under way. Call it
// before threads are started and the store is opened.
int launch_in_background(const StoreFolder& folder, const BackgroundLaunch& launch);

// The same for a sweep: it is under way when it tells its number in the store.
using SweepBegun = std::function<void(int64_t sweep)>;
using BackgroundSweep = std::function<int(const SweepBegun& begun)>;
int sweep_in_background(const StoreFolder& folder, const BackgroundSweep& sweep);

}  // namespace exprun
