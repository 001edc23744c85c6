// Causal attention of all heads of a layer. In fp32 and bf16 on a CPU without dropout it is
// computed by our kernel, in fp32, which computes only the half of the scores that counts and keeps
// no weights, or by ATen's, whichever is the faster for the sizes; all else by ATen's.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

// From the layer's one product for queries, keys and values: query_key_value (B, T, 3C) ->
// (B, T, C). Differentiable. `dropout` is of the attention weights.
at::Tensor causal_attention(const at::Tensor& query_key_value, int64_t num_heads, double dropout);

// From query (B, T, H, D), key and value (B, T, H', D), where H' divides H -> (B, T, H D).
at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            double dropout);

// The same by our kernel: fp32 or bf16 on a CPU.
at::Tensor causal_attention_ours(const at::Tensor& query_key_value, int64_t num_heads);
at::Tensor causal_attention_ours(const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value);

// The same by ATen.
at::Tensor causal_attention_reference(const at::Tensor& query_key_value, int64_t num_heads,
                                      double dropout);
at::Tensor causal_attention_reference(const at::Tensor& query, const at::Tensor& key,
                                      const at::Tensor& value, double dropout);

}  // namespace exprun
