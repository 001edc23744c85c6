// The non-linearities of feed-forward layers. In fp32 and bf16 on a CPU each is computed by our
// vectorised kernel, in fp32, or by ATen's, whichever is the faster for the size; all else by
// ATen's.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

enum class ActivationForm {
  gelu,          // x Phi(x) by the error function (Hendrycks and Gimpel 2016)
  gelu_tanh,     // GPT-2's approximation of it
  relu_squared,  // max(x, 0)^2 (So et al. 2021)
};

// Differentiable.
at::Tensor activation(const at::Tensor& x, ActivationForm form);

// silu(gate) * up (Shazeer 2020), of two tensors of one shape. Differentiable.
at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up);

// The same by our kernels: fp32 or bf16 on a CPU.
at::Tensor activation_ours(const at::Tensor& x, ActivationForm form);
at::Tensor swiglu_ours(const at::Tensor& gate, const at::Tensor& up);

// The same by ATen.
at::Tensor activation_aten(const at::Tensor& x, ActivationForm form);
at::Tensor swiglu_aten(const at::Tensor& gate, const at::Tensor& up);

}  // namespace exprun
