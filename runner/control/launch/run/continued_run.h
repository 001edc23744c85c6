// A further attempt of a run that has ended: from its newest intact checkpoint, or from step 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/run_folder.h"
#include "control/launch/prepared_launch.h"
#include "control/launch/supervise.h"

namespace exprun {

// The lock comes first. Throws Error if the run is running, is not as `run` says any more, or its
// data has changed.
Attempt begin_again(Store& store, const StoreFolder& folder, const LaunchRequest& request,
                    const PreparedLaunch& prepared, const RunRow& run);

// The checkpoint that a run goes on from, or is looked at.

// The newest whose every byte is as its manifest says; with `finite`, whose tensors are finite too.
// What is passed over, and why, is added to `passed_over`: "step_00000300: model.safetensors is
// missing".
std::optional<CheckpointFolder> newest_intact(const RunFolder& folder,
                                              std::vector<std::string>& passed_over,
                                              bool finite = false);

void warn_of(const std::vector<std::string>& passed_over);

}  // namespace exprun
