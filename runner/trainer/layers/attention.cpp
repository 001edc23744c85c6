#include "layers/attention.h"

#include <ATen/ops/dropout.h>

#include "kernels/attention.h"

namespace exprun {

Attention Attention::declare(ParameterList& parameters, const std::string& name,
                             const AttentionSettings& settings, const InitialWeights& weights) {
  Attention layer;
  layer.settings_ = settings;
  const int64_t wide = settings.query_width(), narrow = settings.key_value_width();
  const auto declare = [&](const char* part, int64_t out) {
    return Linear::declare(parameters, name + part,
                           {settings.width, out, settings.query_key_value_bias}, weights);
  };
  if (settings.fused) {
    layer.query_key_value_ = declare(".query_key_value", wide + 2 * narrow);
  } else {
    layer.query_ = declare(".query", wide);
    layer.key_ = declare(".key", narrow);
    layer.value_ = declare(".value", narrow);
  }
  if (settings.qk_norm != AttentionSettings::QkNorm::none) {
    const bool per_head = settings.qk_norm == AttentionSettings::QkNorm::per_head;
    const auto norm = [&](const char* part, int64_t width) {
      return Norm::declare(parameters, name + part, per_head ? settings.head_dim : width,
                           settings.qk_norm_settings);
    };
    layer.query_norm_ = norm(".query_norm", wide);
    layer.key_norm_ = norm(".key_norm", narrow);
  }
  if (settings.output_projection)
    layer.output_projection_ = Linear::declare(
        parameters, name + ".output_projection",
        {wide, settings.width, settings.output_projection_bias}, weights.of_residual());
  if (settings.rotary) layer.rotary_ = Rotary(*settings.rotary, settings.head_dim);
  return layer;
}

at::Tensor Attention::operator()(const at::Tensor& x, bool training) const {
  const auto out = mixed(x, training ? settings_.dropout : 0);
  return at::dropout(output_projection_ ? (*output_projection_)(out) : out, settings_.dropout,
                     training);
}

at::Tensor Attention::mixed(const at::Tensor& x, double dropout) const {
  const auto& s = settings_;
  const bool windowed = s.sliding_window > 0 && s.sliding_window < x.size(1);
  const bool unplaced = s.qk_norm == AttentionSettings::QkNorm::none && !s.rotary;
  if (s.fused && unplaced && !windowed)
    return causal_attention(query_key_value_(x), {s.num_heads, s.num_key_value_heads}, dropout);
  const auto [query, key, value] = project(x);
  const auto from = placed(query, query_norm_), to = placed(key, key_norm_);
  return windowed ? windowed_attention(from, to, value, s.sliding_window, dropout)
                  : causal_attention(from, to, value, dropout);
}

Attention::Heads Attention::project(const at::Tensor& x) const {
  const auto heads = [&](const at::Tensor& part) {
    return part.unflatten(-1, {-1, settings_.head_dim});
  };
  const bool whole = settings_.qk_norm == AttentionSettings::QkNorm::projection;
  const auto normal = [&](const at::Tensor& part, const Norm& norm) {
    return heads(whole ? norm(part) : part);
  };
  if (!settings_.fused)
    return {normal(query_(x), query_norm_), normal(key_(x), key_norm_), heads(value_(x))};
  const int64_t wide = settings_.query_width(), narrow = settings_.key_value_width();
  const auto parts = query_key_value_(x).split_with_sizes({wide, narrow, narrow}, -1);
  return {normal(parts[0], query_norm_), normal(parts[1], key_norm_), heads(parts[2])};
}

// Queries or keys, normalised and turned to their positions.
at::Tensor Attention::placed(const at::Tensor& heads, const Norm& norm) const {
  const auto normal =
      settings_.qk_norm == AttentionSettings::QkNorm::per_head ? norm(heads) : heads;
  return settings_.rotary ? rotary_(normal) : normal;
}

}  // namespace exprun
