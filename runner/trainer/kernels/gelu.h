// The Gaussian error linear unit (Hendrycks and Gimpel 2016): x Phi(x) exactly, by the error
// function, or GPT-2's approximation by tanh.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

enum class GeluForm { erf, tanh };

// Differentiable. fp32 on a CPU runs our vectorised kernel or ATen's, whichever is the faster for
// the size, anything else ATen's.
at::Tensor gelu(const at::Tensor& x, GeluForm form);

// The same by our kernel: fp32 on a CPU.
at::Tensor gelu_ours(const at::Tensor& x, GeluForm form);

// The same by ATen.
at::Tensor gelu_reference(const at::Tensor& x, GeluForm form);

}  // namespace exprun
