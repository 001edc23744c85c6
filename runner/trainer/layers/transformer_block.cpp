#include "layers/transformer_block.h"

#include <ATen/ops/add.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace exprun {
namespace {

// Which parts have a bias: all, none, or those listed.
class Biases {
 public:
  explicit Biases(const Section& model) : all_(model.holds<bool>("bias")) {
    if (all_)
      all_ = model.get<bool>("bias");
    else
      parts_ = model.get<std::vector<std::string>>("bias");
  }

  bool has(const char* part) const {
    return all_ || std::find(parts_.begin(), parts_.end(), part) != parts_.end();
  }

 private:
  bool all_;
  std::vector<std::string> parts_;
};

NormSettings read_norm(const Section& section, bool bias) {
  NormSettings norm;
  norm.form = section.type() == "layer_norm" ? NormSettings::Form::layer_norm
                                             : NormSettings::Form::rms_norm;
  norm.eps =
      section.holds<std::string>("eps") ? std::nullopt : std::optional(section.get<double>("eps"));
  if (section.holds<std::string>("weight"))
    norm.weight = NormSettings::Weight::one_plus;
  else if (!section.get<bool>("weight"))
    norm.weight = NormSettings::Weight::none;
  norm.bias = bias && norm.weight != NormSettings::Weight::none;
  return norm;
}

RopeScaling read_scaling(const Section& section) {
  RopeScaling scaling{RopeScaling::Form::none, section.get<double>("factor"),
                      section.get<double>("low_freq_factor"),
                      section.get<double>("high_freq_factor"),
                      static_cast<double>(section.get<int64_t>("original_context_length"))};
  if (section.type() == "linear") scaling.form = RopeScaling::Form::linear;
  if (section.type() == "llama3") scaling.form = RopeScaling::Form::llama3;
  return scaling;
}

RotarySettings read_rotary(const Section& section) {
  const bool halves = section.get<std::string>("layout") == "half_split";
  const bool clockwise = section.get<std::string>("direction") == "clockwise";
  return {section.get<double>("rope_theta"),
          halves ? RotarySettings::Layout::half_split : RotarySettings::Layout::interleaved,
          clockwise ? RotarySettings::Direction::clockwise
                    : RotarySettings::Direction::counter_clockwise,
          read_scaling(section.table("rope_scaling")),
          section.get<std::string>("table_dtype") == "bf16" ? at::kBFloat16 : at::kFloat};
}

void read_qk_norm(AttentionSettings& attention, const Section& model, const NormSettings& norm) {
  attention.qk_norm_settings = {NormSettings::Form::rms_norm, NormSettings::Weight::plain, norm.eps,
                                false};
  if (model.holds<bool>("qk_norm")) {
    attention.qk_norm_settings.weight = NormSettings::Weight::none;
    if (model.get<bool>("qk_norm")) attention.qk_norm = AttentionSettings::QkNorm::per_head;
  } else {
    attention.qk_norm = model.get<std::string>("qk_norm") == "projection"
                            ? AttentionSettings::QkNorm::projection
                            : AttentionSettings::QkNorm::per_head;
  }
}

AttentionSettings read_attention(const Section& model, const Biases& biases,
                                 const NormSettings& norm) {
  AttentionSettings attention;
  attention.width = model.get<int64_t>("hidden_size");
  attention.head_dim = model.get<int64_t>("head_dim");
  attention.num_heads = model.get<int64_t>("num_heads");
  attention.num_key_value_heads = model.get<int64_t>("num_key_value_heads");
  attention.fused = model.get<std::string>("query_key_value") == "fused";
  attention.query_key_value_bias = biases.has("query_key_value");
  attention.output_projection = model.get<bool>("output_projection");
  attention.output_projection_bias = biases.has("output_projection");
  attention.dropout = model.get<double>("dropout");
  attention.sliding_window = model.get<int64_t>("sliding_window");
  read_qk_norm(attention, model, norm);
  const auto position = model.table("position");
  const RotarySettings rotary = read_rotary(position);
  if (position.type() == "rotary") attention.rotary = rotary;
  return attention;
}

Activation activation_named(const std::string& name) {
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_tanh") return Activation::gelu_tanh;
  if (name == "relu_squared") return Activation::relu_squared;
  if (name == "swiglu") return Activation::swiglu;
  throw std::logic_error("transformer block: no activation is named '" + name + "'");
}

}  // namespace

BlockSettings BlockSettings::read(const Section& model) {
  const Biases biases(model);
  const Section norm = model.table("norm");
  BlockSettings settings;
  settings.norm = read_norm(norm, biases.has("norm"));
  settings.placement =
      norm.get<std::string>("placement") == "post" ? NormPlacement::post : NormPlacement::pre;
  settings.attention = read_attention(model, biases, settings.norm);
  settings.feed_forward = {model.get<int64_t>("hidden_size"),
                           model.get<int64_t>("feed_forward_size"), biases.has("feed_forward"),
                           activation_named(model.get<std::string>("activation")),
                           model.get<double>("dropout")};
  return settings;
}

TransformerBlock::TransformerBlock(ParameterList& parameters, const std::string& name,
                                   const BlockSettings& settings, const InitialWeights& weights)
    : placement_(settings.placement),
      attention_norm_(Norm::declare(parameters, name + ".attention_norm", settings.attention.width,
                                    settings.norm)),
      attention_(Attention::declare(parameters, name + ".attention", settings.attention, weights)),
      feed_forward_norm_(Norm::declare(parameters, name + ".feed_forward_norm",
                                       settings.attention.width, settings.norm)),
      feed_forward_(FeedForward::declare(parameters, name + ".feed_forward", settings.feed_forward,
                                         weights)) {}

// `mix` is attention: of (B, T, C).
template <class Mix>
at::Tensor TransformerBlock::around(const at::Tensor& x, bool training, const Mix& mix) const {
  if (placement_ == BlockSettings::NormPlacement::pre) {
    const auto mixed = at::add(x, mix(attention_norm_(x)));
    return at::add(mixed, feed_forward_(feed_forward_norm_(mixed), training));
  }
  const auto mixed = at::add(x, attention_norm_(mix(x)));
  return at::add(mixed, feed_forward_norm_(feed_forward_(mixed, training)));
}

at::Tensor TransformerBlock::operator()(const at::Tensor& x, bool training,
                                        const Documents* documents) const {
  return around(x, training,
                [&](const at::Tensor& in) { return attention_(in, training, documents); });
}

at::Tensor TransformerBlock::operator()(const at::Tensor& x, KeyValueCache::Layer& layer,
                                        int64_t length, int64_t capacity) const {
  return around(x, false,
                [&](const at::Tensor& in) { return attention_(in, layer, length, capacity); });
}

}  // namespace exprun
