// What keeps its input alone, and is computed a second time in backward (Chen et al. 2016): a part
// of a model (activation checkpointing), or a value that costs little beside what is made of it.
#pragma once

#include <functional>

#include "kernels/custom_function.h"

namespace exprun {

// part(x), as a function of x and of `parameters`, all that it uses. Its gradients are those of
// part(x) to the bit: random numbers are drawn the second time as the first. `part` outlives
// backward.
at::Tensor recomputed(const at::Tensor& x, const Tensors& parameters,
                      const std::function<at::Tensor(const at::Tensor&)>& part);

// linear(value(inputs), weight, bias) without its value: gradients are the same to the bit. `value`
// draws no random numbers.
at::Tensor linear_of_recomputed(const Tensors& inputs, const Function& value,
                                const at::Tensor& weight, const at::Tensor& bias);

}  // namespace exprun
