// A further attempt of a run that has ended: from its newest checkpoint that is intact and finite,
// or from step 0.
#pragma once

#include "control/launch/prepared_launch.h"
#include "control/launch/supervise.h"

namespace exprun {

// The lock comes first. Throws Error if the run is running, is not as `run` says any more, or its
// data has changed.
Attempt continue_run(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                     const PreparedLaunch& prepared, const RunRow& run);

}  // namespace exprun
