// A decoder of the GPT-2 kind (Radford et al. 2019): LayerNorm before each part of a block, learned
// positions, residual projections that start smaller by sqrt(2 num_layers).
#include <ATen/ops/add.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/model.h"
#include "kernels/linear.h"
#include "layers/attention.h"
#include "layers/feed_forward.h"
#include "layers/loss.h"
#include "layers/norm.h"

namespace exprun {
namespace {

struct Settings {
  int64_t num_layers;
  int64_t num_heads;
  int64_t hidden_size;
  int64_t context_length;
  int64_t vocab_size;
  int64_t padded_vocab_size;
  bool bias;
  GeluForm activation;
  bool tied_head;
  double dropout;
  double norm_eps;
  double initialization_std;
};

struct Block {
  LayerNorm attention_norm;
  Attention attention;
  LayerNorm feed_forward_norm;
  FeedForward feed_forward;

  Block(ParameterList& parameters, const std::string& name, const Settings& s) {
    const double residual_std =
        s.initialization_std / std::sqrt(2.0 * static_cast<double>(s.num_layers));
    attention_norm =
        LayerNorm::declare(parameters, name + ".attention_norm", s.hidden_size, s.bias, s.norm_eps);
    attention = Attention::declare(parameters, name + ".attention",
                                   {s.hidden_size, s.num_heads, s.bias, s.dropout},
                                   s.initialization_std, residual_std);
    feed_forward_norm = LayerNorm::declare(parameters, name + ".feed_forward_norm", s.hidden_size,
                                           s.bias, s.norm_eps);
    feed_forward = FeedForward::declare(parameters, name + ".feed_forward",
                                        {s.hidden_size, s.bias, s.activation, s.dropout},
                                        s.initialization_std, residual_std);
  }

  at::Tensor operator()(at::Tensor x, bool training) const {  // (B, T, C)
    x = at::add(x, attention(attention_norm(x), training));
    return at::add(x, feed_forward(feed_forward_norm(x), training));
  }
};

class Gpt final : public Model {
 public:
  Gpt(const Settings& settings, ParameterList& parameters) : settings_(settings) {
    const auto& s = settings_;
    const auto normal = Initialization::normal(s.initialization_std);
    token_embedding_ = parameters.add("token_embedding.weight", ParameterClass::embedding,
                                      {s.padded_vocab_size, s.hidden_size}, normal);
    position_embedding_ = parameters.add("position_embedding.weight", ParameterClass::embedding,
                                         {s.context_length, s.hidden_size}, normal);
    for (int64_t i = 0; i < s.num_layers; ++i)
      blocks_.emplace_back(parameters, "blocks." + std::to_string(i), s);
    final_norm_ = LayerNorm::declare(parameters, "final_norm", s.hidden_size, s.bias, s.norm_eps);
    head_ = s.tied_head ? token_embedding_
                        : parameters.add("head.weight", ParameterClass::matrix,
                                         {s.padded_vocab_size, s.hidden_size}, normal);
    count_ = parameters.count();
  }

  at::Tensor loss_sum(const at::Tensor& inputs, const at::Tensor& targets) override {
    return head_loss_sum(hidden(inputs).view({-1, settings_.hidden_size}), head_,
                         targets.reshape({-1}), settings_.vocab_size);
  }

  // Without the padded columns, so that sampling cannot draw them.
  at::Tensor logits(const at::Tensor& inputs) override {
    return linear(hidden(inputs), head_).narrow(-1, 0, settings_.vocab_size);
  }

  int64_t context_length() const override { return settings_.context_length; }
  int64_t vocab_size() const override { return settings_.vocab_size; }

  double flops_per_token(int64_t sequence_length) const override {
    const auto parameters = static_cast<double>(count_ - position_embedding_.numel());
    return 6 * parameters + 12.0 * static_cast<double>(settings_.num_layers) *
                                static_cast<double>(settings_.hidden_size) *
                                static_cast<double>(sequence_length);
  }

  // A block keeps 16 tensors of the width: two inputs of norms and their outputs (4), queries, keys
  // and values (3), attention's output (1), the non-linearity's slope and value (4 + 4). The loss
  // keeps the gradient of the hidden state; its logits are there meanwhile.
  double activation_bytes(int64_t sequence_length) const override {
    const auto width = static_cast<double>(settings_.hidden_size);
    const double a_token = 16 * width * static_cast<double>(settings_.num_layers) + 3 * width +
                           static_cast<double>(settings_.padded_vocab_size);
    return sizeof(float) * a_token * static_cast<double>(sequence_length);
  }

 private:
  at::Tensor hidden(const at::Tensor& inputs) const {  // (B, T) -> (B, T, C)
    const int64_t length = inputs.size(1);
    if (length > settings_.context_length)
      throw std::logic_error("gpt: a sequence is longer than context_length");
    auto x =
        at::add(at::embedding(token_embedding_, inputs), position_embedding_.narrow(0, 0, length));
    x = at::dropout(x, settings_.dropout, training());
    for (const auto& block : blocks_) x = block(x, training());
    return final_norm_(x);
  }

  Settings settings_;
  at::Tensor token_embedding_;     // (V', C)
  at::Tensor position_embedding_;  // (T, C)
  std::vector<Block> blocks_;
  LayerNorm final_norm_;
  at::Tensor head_;  // (V', C)
  int64_t count_ = 0;
};

Settings read(const Section& section) {
  Settings s{};
  s.num_layers = section.get<int64_t>("num_layers");
  s.num_heads = section.get<int64_t>("num_heads");
  s.hidden_size = section.get<int64_t>("hidden_size");
  s.context_length = section.get<int64_t>("context_length");
  s.vocab_size = section.get<int64_t>("vocab_size");
  const auto multiple = section.get<int64_t>("vocab_multiple");
  s.padded_vocab_size = (s.vocab_size + multiple - 1) / multiple * multiple;
  s.bias = section.get<bool>("bias");
  s.activation = section.get<std::string>("activation") == "gelu" ? GeluForm::erf : GeluForm::tanh;
  s.tied_head = section.get<bool>("tied_head");
  s.dropout = section.get<double>("dropout");
  s.norm_eps = section.get<double>("norm_eps");
  s.initialization_std = section.get<double>("initialization_std");
  return s;
}

std::unique_ptr<Model> build(const Section& section, ParameterList& parameters) {
  return std::make_unique<Gpt>(read(section), parameters);
}

const Register<Model> registration{"gpt", build};

}  // namespace
}  // namespace exprun
