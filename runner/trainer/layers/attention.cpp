#include "layers/attention.h"

#include <ATen/ops/dropout.h>

#include "kernels/attention.h"

namespace exprun {

Attention Attention::declare(ParameterList& parameters, const std::string& name,
                             const AttentionSettings& settings, const InitialWeights& weights) {
  Attention layer;
  layer.settings_ = settings;
  const int64_t width = settings.width, narrow = settings.key_value_width();
  const auto declare = [&](const char* part, int64_t out) {
    return Linear::declare(parameters, name + part, {width, out, settings.query_key_value_bias},
                           weights);
  };
  if (settings.fused) {
    layer.query_key_value_ = declare(".query_key_value", width + 2 * narrow);
  } else {
    layer.query_ = declare(".query", width);
    layer.key_ = declare(".key", narrow);
    layer.value_ = declare(".value", narrow);
  }
  if (settings.output_projection)
    layer.output_projection_ =
        Linear::declare(parameters, name + ".output_projection",
                        {width, width, settings.output_projection_bias}, weights.of_residual());
  if (settings.qk_norm) layer.qk_norm_.settings = *settings.qk_norm;
  if (settings.rotary) layer.rotary_ = Rotary(*settings.rotary, settings.head_width());
  return layer;
}

at::Tensor Attention::operator()(const at::Tensor& x, bool training) const {
  const auto out = mixed(x, training ? settings_.dropout : 0);
  return at::dropout(output_projection_ ? (*output_projection_)(out) : out, settings_.dropout,
                     training);
}

at::Tensor Attention::mixed(const at::Tensor& x, double dropout) const {
  const auto& s = settings_;
  const bool plain = s.fused && s.num_key_value_heads == s.num_heads && !s.qk_norm && !s.rotary;
  if (plain) return causal_attention(query_key_value_(x), s.num_heads, dropout);
  const auto [query, key, value] = project(x);
  return causal_attention(placed(query), placed(key), value, dropout);
}

Attention::Heads Attention::project(const at::Tensor& x) const {
  const auto heads = [&](const at::Tensor& part) {
    return part.unflatten(-1, {-1, settings_.head_width()});
  };
  if (!settings_.fused) return {heads(query_(x)), heads(key_(x)), heads(value_(x))};
  const int64_t width = settings_.width, narrow = settings_.key_value_width();
  const auto parts = query_key_value_(x).split_with_sizes({width, narrow, narrow}, -1);
  return {heads(parts[0]), heads(parts[1]), heads(parts[2])};
}

// Queries or keys, normalised and turned to their positions.
at::Tensor Attention::placed(const at::Tensor& heads) const {
  const auto normal = settings_.qk_norm ? qk_norm_(heads) : heads;
  return settings_.rotary ? rotary_(normal) : normal;
}

}  // namespace exprun
