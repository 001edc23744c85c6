// Which kernels compute, ours or ATen's operators: of functions that have both, the faster for its
// sizes on this machine is measured once (engine/autotune/autotune.h).
#pragma once

#include "engine/autotune/autotune.h"
#include "kernels/custom_function.h"

namespace exprun {

// What is measured is forward and backward together, of the inputs given. Undefined inputs are
// those left out.
at::Tensor fastest(const autotune::Key& key, const Tensors& inputs, const Function& ours,
                   const Function& aten);

// For kernels that are measured otherwise: the names of both ways.
inline constexpr autotune::Names kOursOrAten = {"exprun", "aten"};

}  // namespace exprun
