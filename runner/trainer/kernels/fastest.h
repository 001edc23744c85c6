// A differentiable function of tensors that can be computed in two ways, by the faster of them for
// its sizes (engine/device/autotune.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "engine/device/autotune.h"
#include "kernels/hand_gradient.h"

namespace exprun {

using Function = std::function<at::Tensor(const Tensors&)>;

// What is measured is forward and backward together, of the inputs given. Undefined inputs are
// those left out.
at::Tensor fastest(const autotune::Key& key, const Tensors& inputs, const Function& ours,
                   const Function& aten);

// For kernels that are measured otherwise: whether there are ours on this processor, and the names
// of both, ours first.
bool has_our_kernels();
inline constexpr autotune::Names kOursOrAten = {"exprun", "aten"};

}  // namespace exprun
