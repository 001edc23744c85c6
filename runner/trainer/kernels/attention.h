// Causal attention of all heads of a layer. Short sequences in fp32 on a CPU run our kernel, which
// keeps one head's scores in cache and computes only the half that counts; all others ATen's.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

// From the layer's one product for queries, keys and values: query_key_value (B, T, 3C) ->
// (B, T, C). Differentiable. `dropout` is of the attention weights.
at::Tensor causal_attention(const at::Tensor& query_key_value, int64_t num_heads, double dropout);

// From query (B, T, H, D), key and value (B, T, H', D), where H' divides H -> (B, T, H D).
at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            double dropout);

// The same by ATen: what tests compare with.
at::Tensor causal_attention_reference(const at::Tensor& query_key_value, int64_t num_heads,
                                      double dropout);
at::Tensor causal_attention_reference(const at::Tensor& query, const at::Tensor& key,
                                      const at::Tensor& value, double dropout);

}  // namespace exprun
