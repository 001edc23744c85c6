// A new run: folder, lock and files first, then the row. What fails in between is removed again,
// so there is no row without a folder; a crash leaves at most a folder that no row names.
#pragma once

#include "control/launch/prepared_launch.h"
#include "control/launch/supervise.h"

namespace exprun {

Attempt begin_new_run(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                      const PreparedLaunch& prepared);

// The files that the trainer reads: recipe.json and data.json.
void write_hand_over(const RunFolder& folder, const LaunchRequest& request,
                     const PreparedData& data);

}  // namespace exprun
