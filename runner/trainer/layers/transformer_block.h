// A block of a decoder-only transformer: causal attention, then the feed-forward layers, each with
// a norm and added to the residual stream. What every decoder of such blocks shares.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "layers/attention.h"
#include "layers/feed_forward.h"
#include "layers/norm.h"
#include "recipe/section.h"

namespace exprun {

struct BlockSettings {
  // pre: x + f(norm(x)) (GPT-2, Llama); post: x + norm(f(x)) (OLMo 2).
  enum class NormPlacement { pre, post };

  NormSettings norm;
  NormPlacement placement = NormPlacement::pre;
  AttentionSettings attention;
  FeedForward::Shape feed_forward;

  // From a [model] that has the keys of `gpt`.
  static BlockSettings read(const Section& model);
};

class TransformerBlock {
 public:
  // Declares "<name>.attention_norm", ".attention", ".feed_forward_norm" and ".feed_forward".
  TransformerBlock(ParameterList& parameters, const std::string& name,
                   const BlockSettings& settings, const InitialWeights& weights);

  // (B, T, C); (1, N, C) of documents.
  at::Tensor operator()(const at::Tensor& x, bool training,
                        const Documents* documents = nullptr) const;

  // As Attention does it with a cache.
  at::Tensor operator()(const at::Tensor& x, KeyValueCache::Layer& layer, int64_t length,
                        int64_t capacity) const;

 private:
  template <class Mix>
  at::Tensor around(const at::Tensor& x, bool training, const Mix& mix) const;

  BlockSettings::NormPlacement placement_;
  Norm attention_norm_;
  Attention attention_;
  Norm feed_forward_norm_;
  FeedForward feed_forward_;
};

}  // namespace exprun
