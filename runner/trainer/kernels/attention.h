// Causal attention of all heads of a layer, from the layer's one product for queries, keys and
// values. Short sequences in fp32 on a CPU run our kernel, which keeps one head's scores in cache
// and computes only the half that counts; all others ATen's.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

// query_key_value (B, T, 3C) -> (B, T, C). Differentiable. `dropout` is of the attention weights.
at::Tensor causal_attention(const at::Tensor& query_key_value, int64_t num_heads, double dropout);

// The same by ATen: what tests compare with.
at::Tensor causal_attention_reference(const at::Tensor& query_key_value, int64_t num_heads,
                                      double dropout);

}  // namespace exprun
