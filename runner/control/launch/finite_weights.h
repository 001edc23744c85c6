// Whether a checkpoint is worth going on from after a run has diverged.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace exprun {

// The first value that is nan or infinite in a checkpoint's tensors, weights before the optimizer's
// state: "'embedding.weight' in model.safetensors is not finite". Throws Error for a file that is
// no safetensors.
std::optional<std::string> non_finite_tensor(const std::filesystem::path& checkpoint);

}  // namespace exprun
