// y = x W^T + b, forward and both gradients, in the fastest way for each shape
// (engine/autotune/autotune.h): fp32 by ATen's BLAS (MKL) or by oneDNN, bf16 by ATen or in fp32
// with the result rounded.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/custom_function.h"

namespace exprun {

// x (..., in), weight (out, in), bias (out) or undefined. Differentiable. A weight in another
// format than x is cast to it. If it is an fp32 leaf that has a gradient and x is bf16, backward
// adds the weight's gradient there instead of returning it.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias = {});

// The same by ATen: what tests compare with.
at::Tensor linear_aten(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// What linear() does in backward: the gradients of x, weight and, if there is one, bias. Kept are x
// (N, in), needed for the weight's alone, the weight as it was multiplied, and the weight.
Tensors linear_gradients(const Backward& given);

// Its three products, for kernels that have their own backward. Two dimensions, no autograd.
at::Tensor linear_forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
at::Tensor linear_input_gradient(const at::Tensor& gradient, const at::Tensor& weight);
at::Tensor linear_weight_gradient(const at::Tensor& gradient, const at::Tensor& x);

// x (1, in) times weight (out, in) transposed, plus bias (out), which may be undefined: what
// generating a token consists of. It reads every weight once and is as fast as memory allows. All
// fp32 or all bf16, which is summed in fp32 and rounded once; contiguous, on a CPU that
// usable_instruction_sets() has a set for. No autograd.
at::Tensor row_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

// x (N, r, k) times y (N, k, c), each in its batch. No autograd.
at::Tensor batched_product(const at::Tensor& x, const at::Tensor& y);

}  // namespace exprun
