// The checkpoint that a run goes on from, or is looked at.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/run_folder.h"

namespace exprun {

// The newest whose every byte is as its manifest says; with `finite`, whose tensors are finite too.
// What is passed over, and why, is added to `passed_over`: "step_00000300: model.safetensors is
// missing".
std::optional<CheckpointFolder> newest_intact(const RunFolder& folder,
                                              std::vector<std::string>& passed_over,
                                              bool finite = false);

void warn_of(const std::vector<std::string>& passed_over);

}  // namespace exprun
