// One row through a linear layer: what generating a token consists of. It reads every weight once
// and is as fast as memory allows.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

// x (1, in) times weight (out, in) transposed, plus bias (out), which may be undefined -> (1, out).
// All fp32, contiguous, on a CPU that usable_instruction_sets() has a set for. No autograd.
at::Tensor row_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

}  // namespace exprun
