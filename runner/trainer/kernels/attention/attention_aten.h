// Attention by ATen's kernels, which is a GPU's only way.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace exprun {

// Whether calls of one shape come again. For each new shape cuDNN makes a plan, in some 10 ms on an
// H200: where shapes vary, the other kernels are the faster ones.
enum class Shapes { repeat, vary };

struct AttentionOptions {
  at::Tensor visible = {};  // (T, T') bool: what a position may see; undefined: all of it
  bool is_causal = false;   // a position sees itself and those before it
  double dropout = 0;       // of the attention weights
  Shapes shapes = Shapes::repeat;
};

// Query (B, H, T, D), key and value (B, H', T', D), where H' divides H -> (B, T, H D).
at::Tensor attention_aten(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                          const AttentionOptions& options);

// Documents one after another, as document_attention has them (attention.h), by one call of the
// flash kernel for sequences of any length; nothing where that kernel does not compute them: on a
// CPU, on GPUs before Ampere, in fp32, and of heads whose width is no multiple of 8.
std::optional<at::Tensor> document_attention_flash(const at::Tensor& query, const at::Tensor& key,
                                                   const at::Tensor& value,
                                                   const std::vector<int64_t>& lengths,
                                                   const at::Tensor& bounds, int64_t window,
                                                   double dropout);

}  // namespace exprun
