// Activation checkpointing (Chen et al. 2016): a part of a model keeps its input alone, and is
// computed a second time in backward.
#pragma once

#include <functional>

#include "kernels/custom_function.h"

namespace exprun {

// part(x), as a function of x and of `parameters`, all that it uses. Its gradients are those of
// part(x) to the bit: random numbers are drawn the second time as the first. `part` outlives
// backward.
at::Tensor recomputed(const at::Tensor& x, const Tensors& parameters,
                      const std::function<at::Tensor(const at::Tensor&)>& part);

}  // namespace exprun
