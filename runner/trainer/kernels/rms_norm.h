// RMS normalisation of the last dimension, forward and backward in one pass each over a row.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

// x / sqrt(mean(x^2) + eps) * (weight + offset). x (..., C), weight (C) or undefined for none; in
// the format of x, computed in fp32. Differentiable. fp32 on a CPU runs our kernel or ATen's,
// whichever is the faster for the sizes, a GPU ATen's fused one, anything else its operators.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double offset, double eps);

// The same by our kernel: fp32 on a CPU.
at::Tensor rms_norm_ours(const at::Tensor& x, const at::Tensor& weight, double offset, double eps);

// The same by ATen's fused operator, which wants x and weight in one format: where they differ, in
// fp32 and back.
at::Tensor rms_norm_fused(const at::Tensor& x, const at::Tensor& weight, double offset, double eps);

// The same by ATen's operators: what tests compare with.
at::Tensor rms_norm_aten(const at::Tensor& x, const at::Tensor& weight, double offset, double eps);

}  // namespace exprun
