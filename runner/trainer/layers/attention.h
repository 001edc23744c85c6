// Causal self-attention of many heads (Vaswani et al. 2017), some of which may share keys and
// values (Ainslie et al. 2023).
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "engine/documents.h"
#include "engine/inference/key_value_cache.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "layers/rotary.h"

namespace exprun {

struct AttentionSettings {
  // Of queries and keys: of every head, or of the whole projection before it is split into heads.
  enum class QkNorm { none, per_head, projection };

  int64_t width = 0;     // C
  int64_t head_dim = 0;  // D
  int64_t num_heads = 1;
  int64_t num_key_value_heads = 1;
  bool fused = true;  // query, key and value are one matrix
  bool query_key_value_bias = true;
  bool output_projection = true;  // without one the heads' output is the layer's
  bool output_projection_bias = true;
  double dropout = 0;
  QkNorm qk_norm = QkNorm::none;
  NormSettings qk_norm_settings;
  std::optional<RotarySettings> rotary;
  int64_t sliding_window = 0;  // positions that one sees, itself included; 0: all before it

  int64_t query_width() const { return head_dim * num_heads; }
  int64_t key_value_width() const { return head_dim * num_key_value_heads; }
};

class Attention {
 public:
  static Attention declare(ParameterList& parameters, const std::string& name,
                           const AttentionSettings& settings, const InitialWeights& weights);

  // (B, T, C); with documents (1, N, C), where each is attended to by itself.
  at::Tensor operator()(const at::Tensor& x, bool training,
                        const Documents* documents = nullptr) const;

  // The same without dropout, for tokens after the `length` that the cache has of this layer,
  // which gets theirs: all tokens of a text at first, then one at a time.
  at::Tensor operator()(const at::Tensor& x, KeyValueCache::Layer& layer, int64_t length,
                        int64_t capacity) const;

 private:
  struct Heads {
    at::Tensor query;  // (B, T, H, D)
    at::Tensor key;    // (B, T, H', D)
    at::Tensor value;
  };
  at::Tensor mixed(const at::Tensor& x, bool training, const Documents* documents) const;
  at::Tensor among(const Heads& heads, double dropout) const;
  Heads project(const at::Tensor& x, bool training = false) const;
  Heads placed(const Heads& heads, int64_t first = 0, const Documents* documents = nullptr) const;
  at::Tensor projected(const at::Tensor& mixed, bool training = false) const;

  AttentionSettings settings_;
  Linear query_key_value_;  // ((H + 2 H') D, C): queries, keys, values; or
  Linear query_, key_, value_;
  std::optional<Linear> output_projection_;  // (C, H D)
  Norm query_norm_, key_norm_;
  Rotary rotary_;
};

}  // namespace exprun
