// The checkpoint that a further attempt of a run goes on from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files/run_folder.h"

namespace exprun {

// The newest whose every byte is as its manifest says, and whose tensors are finite. What is passed
// over, and why, is added to `passed_over`: "step_00000300: model.safetensors is missing". Throws
// Error for a file of tensors that its manifest knows, and that is no safetensors file.
std::optional<CheckpointFolder> newest_to_continue_from(const RunFolder& folder,
                                                        std::vector<std::string>& passed_over);

// A warning for each checkpoint that was passed over.
void warn_of(const std::vector<std::string>& passed_over);

}  // namespace exprun
