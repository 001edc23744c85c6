// Layer normalisation of the last dimension, forward and backward in one pass each over a row.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

// x (..., C), weight (C), bias (C) or undefined. Differentiable. fp32 on a CPU runs our kernel or
// ATen's, whichever is the faster for the sizes, anything else ATen's.
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps);

// By ATen, in fp32 and back to the format of x: any other format on a GPU.
at::Tensor layer_norm_wide(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           double eps);

// The same by our kernel: fp32 on a CPU.
at::Tensor layer_norm_ours(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           double eps);

// The same by ATen.
at::Tensor layer_norm_aten(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           double eps);

}  // namespace exprun
