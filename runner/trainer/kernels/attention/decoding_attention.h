// Attention of one new position of a text, when text is generated.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

// One position a text against all that came before it: query (B, 1, H, D), key and value
// (B, H', T, D), where H' divides H -> (B, 1, H D). No autograd. In fp32 and bf16 on a CPU by our
// kernel, in fp32: ATen's packs the keys and values of every head anew for each position.
at::Tensor decoding_attention(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value);

// By our kernel, where positions of a head lie one after another.
at::Tensor decoding_attention_ours(const at::Tensor& query, const at::Tensor& key,
                                   const at::Tensor& value);

// By ATen.
at::Tensor decoding_attention_aten(const at::Tensor& query, const at::Tensor& key,
                                   const at::Tensor& value);

}  // namespace exprun
