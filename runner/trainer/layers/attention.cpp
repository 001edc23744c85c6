#include "layers/attention.h"

#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>

#include "kernels/attention/attention.h"
#include "kernels/attention/decoding_attention.h"

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

at::Tensor Attention::operator()(const at::Tensor& x, bool training,
                                 const Documents* documents) const {
  const auto out = mixed(x, training, documents);
  return at::dropout(projected(out, training), settings_.dropout, training);
}

at::Tensor Attention::operator()(const at::Tensor& x, KeyValueCache::Layer& layer, int64_t length,
                                 int64_t capacity) const {
  const Heads heads = placed(project(x), length);
  const int64_t all = length + x.size(1);
  const auto keep = [&](at::Tensor& kept, const at::Tensor& more) {  // more (B, T, H', D)
    if (!kept.defined())
      kept = at::empty({more.size(0), more.size(2), capacity, more.size(3)}, more.options());
    kept.narrow(2, length, x.size(1)).copy_(more.transpose(1, 2));
  };
  keep(layer.keys, heads.key);
  keep(layer.values, heads.value);
  if (length == 0) return projected(among(heads, 0));
  if (x.size(1) != 1) throw std::logic_error("attention: tokens follow one at a time");
  const int64_t seen = settings_.sliding_window > 0 ? std::min(all, settings_.sliding_window) : all;
  return projected(decoding_attention(heads.query, layer.keys.narrow(2, all - seen, seen),
                                      layer.values.narrow(2, all - seen, seen)));
}

at::Tensor Attention::projected(const at::Tensor& mixed, bool training) const {
  return output_projection_ ? (*output_projection_)(mixed, training) : mixed;
}

at::Tensor Attention::mixed(const at::Tensor& x, bool training, const Documents* documents) const {
  const auto& s = settings_;
  const double dropout = training ? s.dropout : 0;
  if (documents) {
    const auto [query, key, value] = placed(project(x, training), 0, documents);
    return document_attention(query, key, value, documents->lengths, documents->bounds,
                              s.sliding_window, dropout);
  }
  const bool windowed = s.sliding_window > 0 && s.sliding_window < x.size(1);
  const bool unplaced = s.qk_norm == AttentionSettings::QkNorm::none && !s.rotary;
  if (s.fused && unplaced && !windowed)
    return causal_attention(query_key_value_(x, training), {s.num_heads, s.num_key_value_heads},
                            dropout);
  return among(placed(project(x, training)), dropout);
}

at::Tensor Attention::among(const Heads& heads, double dropout) const {
  const int64_t window = settings_.sliding_window;
  return window > 0 && window < heads.query.size(1)
             ? windowed_attention(heads.query, heads.key, heads.value, window, dropout)
             : causal_attention(heads.query, heads.key, heads.value, dropout);
}

Attention::Heads Attention::project(const at::Tensor& x, bool training) const {
  const auto heads = [&](const at::Tensor& part) {
    return part.unflatten(-1, {-1, settings_.head_dim});
  };
  const bool whole = settings_.qk_norm == AttentionSettings::QkNorm::projection;
  const auto normal = [&](const at::Tensor& part, const Norm& norm) {
    return heads(whole ? norm(part) : part);
  };
  if (!settings_.fused)
    return {normal(query_(x, training), query_norm_), normal(key_(x, training), key_norm_),
            heads(value_(x, training))};
  const int64_t wide = settings_.query_width(), narrow = settings_.key_value_width();
  const auto parts = query_key_value_(x, training).split_with_sizes({wide, narrow, narrow}, -1);
  return {normal(parts[0], query_norm_), normal(parts[1], key_norm_), heads(parts[2])};
}

// Queries and keys normalised and turned to their positions, of which the first is `first`.
Attention::Heads Attention::placed(const Heads& heads, int64_t first,
                                   const Documents* documents) const {
  const auto place = [&](const at::Tensor& part, const Norm& norm) {
    const auto normal =
        settings_.qk_norm == AttentionSettings::QkNorm::per_head ? norm(part) : part;
    if (!settings_.rotary) return normal;
    return documents ? rotary_(normal, *documents) : rotary_(normal, first);
  };
  return {place(heads.query, query_norm_), place(heads.key, key_norm_), heads.value};
}

}  // namespace exprun
