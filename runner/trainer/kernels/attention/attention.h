// Causal attention of all heads of a layer. In fp32 and bf16 on a CPU without dropout it is
// computed by our kernel, in fp32, which computes only the half of the scores that counts and keeps
// no weights, or by ATen's, whichever is the faster for the sizes; all else by ATen's. Attention of
// documents takes ours wherever it can, unmeasured, and so does that of generated tokens
// (decoding_attention.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace exprun {

// How many heads a layer has; those of keys and values divide those of queries.
struct HeadCounts {
  int64_t query;      // H
  int64_t key_value;  // H'

  HeadCounts(int64_t all) : query(all), key_value(all) {}
  HeadCounts(int64_t query, int64_t key_value) : query(query), key_value(key_value) {}
};

// From the layer's one product for queries, keys and values: query_key_value (B, T, (H + 2 H') D)
// -> (B, T, H D). Differentiable. `dropout` is of the attention weights.
at::Tensor causal_attention(const at::Tensor& query_key_value, HeadCounts heads, double dropout);

// From query (B, T, H, D), key and value (B, T, H', D), where H' divides H -> (B, T, H D).
at::Tensor causal_attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            double dropout);

// The same where a position sees itself and the `window` - 1 positions before it; by ATen.
at::Tensor windowed_attention(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value, int64_t window, double dropout);

// Of documents of these lengths one after another, each by itself: query (1, N, H, D), key and
// value (1, N, H', D) -> (1, N, H D). `bounds` as Documents has them (engine/documents.h).
// `window`: as in windowed_attention; 0: all positions before.
at::Tensor document_attention(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value, const std::vector<int64_t>& lengths,
                              const at::Tensor& bounds, int64_t window, double dropout);

// causal_attention by our kernel: fp32 or bf16 on a CPU.
at::Tensor causal_attention_ours(const at::Tensor& query_key_value, HeadCounts heads);
at::Tensor causal_attention_ours(const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value);

// causal_attention by ATen.
at::Tensor causal_attention_aten(const at::Tensor& query_key_value, HeadCounts heads,
                                 double dropout);
at::Tensor causal_attention_aten(const at::Tensor& query, const at::Tensor& key,
                                 const at::Tensor& value, double dropout);

}  // namespace exprun
