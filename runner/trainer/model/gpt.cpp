// A decoder-only transformer, composed from its recipe: GPT-2 (Radford et al. 2019) by default,
// with the norms, positions, attention and activations of its successors.
#include <ATen/ops/add.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/model.h"
#include "layers/loss.h"
#include "layers/norm.h"
#include "layers/transformer_block.h"

namespace exprun {
namespace {

struct Settings {
  int64_t num_layers;
  int64_t hidden_size;
  int64_t context_length;
  int64_t vocab_size;
  int64_t padded_vocab_size;
  bool learned_positions;
  bool embedding_norm;
  bool tie_embeddings;
  double dropout;
  double logit_softcap;
  BlockSettings block;
  InitialWeights weights;
  std::vector<std::string> zero;
};

class Gpt final : public Model {
 public:
  Gpt(const Settings& settings, ParameterList& parameters) : settings_(settings) {
    const auto& s = settings_;
    token_embedding_ = parameters.add("token_embedding.weight", ParameterClass::embedding,
                                      {s.padded_vocab_size, s.hidden_size}, s.weights.embedding());
    if (s.learned_positions)
      position_embedding_ =
          parameters.add("position_embedding.weight", ParameterClass::embedding,
                         {s.context_length, s.hidden_size}, s.weights.embedding());
    if (s.embedding_norm)
      embedding_norm_ = Norm::declare(parameters, "embedding_norm", s.hidden_size, s.block.norm);
    declared_.push_back(parameters.items().size());
    for (int64_t i = 0; i < s.num_layers; ++i) {
      blocks_.emplace_back(parameters, "blocks." + std::to_string(i), s.block, s.weights);
      declared_.push_back(parameters.items().size());
    }
    final_norm_ = Norm::declare(parameters, "final_norm", s.hidden_size, s.block.norm);
    head_ = {s.tie_embeddings ? token_embedding_
                              : parameters.add("head.weight", ParameterClass::matrix,
                                               {s.padded_vocab_size, s.hidden_size},
                                               s.weights.matrix(s.hidden_size)),
             s.vocab_size, s.logit_softcap, parameters.precision().compute};
    declared_.push_back(parameters.items().size());
    count_ = parameters.count();
  }

  bool announces_use() const override { return true; }

  at::Tensor loss_sum(const at::Tensor& inputs, const at::Tensor& targets) override {
    return head_.loss_sum(hidden(inputs).view({-1, settings_.hidden_size}), targets.reshape({-1}),
                          expected_loss_gradient());
  }

  // The head computes what is learned and nothing else.
  at::Tensor packed_loss_sum(const at::Tensor& inputs, const at::Tensor& targets,
                             const Documents& documents) override {
    const auto all = hidden(inputs, &documents).view({-1, settings_.hidden_size});
    return head_.loss_sum(all.index_select(0, documents.learned),
                          targets.view({-1}).index_select(0, documents.learned),
                          expected_loss_gradient());
  }

  at::Tensor logits(const at::Tensor& inputs) override { return head_.logits(hidden(inputs)); }

  bool has_cache() const override { return true; }

  at::Tensor next_logits(const at::Tensor& tokens, KeyValueCache& cache) override {
    cache.layers.resize(blocks_.size());
    auto x = embedded(tokens, cache.length);
    for (size_t i = 0; i < blocks_.size(); ++i)
      x = blocks_[i](x, cache.layers[i], cache.length, cache.capacity);
    cache.length += tokens.size(1);
    return head_.logits(final_norm_(x.select(1, tokens.size(1) - 1)));
  }

  int64_t context_length() const override { return settings_.context_length; }
  int64_t vocab_size() const override { return settings_.vocab_size; }

  double flops_per_token(int64_t sequence_length) const override {
    const int64_t positions = settings_.learned_positions ? position_embedding_.numel() : 0;
    return 6 * static_cast<double>(count_ - positions) +
           12.0 * static_cast<double>(settings_.num_layers) *
               static_cast<double>(settings_.block.attention.query_width()) *
               static_cast<double>(sequence_length);
  }

  // A block keeps the inputs of its norms and their outputs (4 widths), queries, keys and values,
  // attention's output, the non-linearity's slope and value. The loss keeps the gradient of the
  // hidden state; its logits exist in chunks only.
  double activation_bytes(int64_t sequence_length) const override {
    const auto& s = settings_;
    const auto width = static_cast<double>(s.hidden_size);
    const auto& attention = s.block.attention;
    const auto of_heads =
        static_cast<double>(2 * attention.query_width() + 2 * attention.key_value_width());
    const double a_block =
        4 * width + of_heads + 2 * static_cast<double>(s.block.feed_forward.hidden);
    const double a_token = a_block * static_cast<double>(s.num_layers) + 3 * width;
    return static_cast<double>(at::elementSize(head_.compute)) * a_token *
           static_cast<double>(sequence_length);
  }

 private:
  // (B, T) -> (B, T, C); the first token is at position `first`, or where the documents say.
  at::Tensor embedded(const at::Tensor& inputs, int64_t first,
                      const Documents* documents = nullptr) const {
    const int64_t length =
        documents ? *std::max_element(documents->lengths.begin(), documents->lengths.end())
                  : inputs.size(1);
    if (first + length > settings_.context_length)
      throw std::logic_error("gpt: a sequence is longer than context_length");
    auto x = at::embedding(token_embedding_, inputs);
    if (settings_.learned_positions)
      x = at::add(x, documents ? at::embedding(position_embedding_, documents->positions)
                               : position_embedding_.narrow(0, first, length));
    x = at::dropout(x, settings_.dropout, training());
    return settings_.embedding_norm ? embedding_norm_(x) : x;
  }

  // (B, T) -> (B, T, C)
  at::Tensor hidden(const at::Tensor& inputs, const Documents* documents = nullptr) const {
    auto declared = declared_.begin();
    about_to_use(*declared);
    auto x = embedded(inputs, 0, documents);
    for (const auto& block : blocks_) {
      about_to_use(*++declared);
      x = block(x, training(), documents);
    }
    about_to_use(*++declared);
    return final_norm_(x);
  }

  Settings settings_;
  at::Tensor token_embedding_;     // (V', C)
  at::Tensor position_embedding_;  // (T, C), with learned positions
  Norm embedding_norm_;
  std::vector<TransformerBlock> blocks_;
  Norm final_norm_;
  Head head_;
  std::vector<size_t> declared_;  // parameters up to the first block, each block, and the head
  int64_t count_ = 0;
};

InitialWeights read_weights(const Section& section, int64_t num_layers) {
  const auto std = section.get<double>("std");
  const bool scaled = section.get<bool>("residual_scaling");
  if (section.get<std::string>("scheme") == "pytorch") return InitialWeights::pytorch();
  return InitialWeights::normal(
      std, scaled ? std / std::sqrt(2.0 * static_cast<double>(num_layers)) : std);
}

Settings read(const Section& section) {
  Settings s{};
  s.num_layers = section.get<int64_t>("num_layers");
  s.hidden_size = section.get<int64_t>("hidden_size");
  s.context_length = section.get<int64_t>("context_length");
  s.vocab_size = section.get<int64_t>("vocab_size");
  const auto multiple = section.get<int64_t>("vocab_multiple");
  s.padded_vocab_size = (s.vocab_size + multiple - 1) / multiple * multiple;
  s.learned_positions = section.table("position").type() == "learned";
  s.embedding_norm = section.get<bool>("embedding_norm");
  s.tie_embeddings = section.get<bool>("tie_embeddings");
  s.dropout = section.get<double>("dropout");
  s.logit_softcap = section.get<double>("logit_softcap");
  s.block = BlockSettings::read(section);
  const auto initialization = section.table("initialization");
  s.weights = read_weights(initialization, s.num_layers);
  s.zero = initialization.get<std::vector<std::string>>("zero");
  return s;
}

std::unique_ptr<Model> build(const Section& section, ParameterList& parameters) {
  const Settings settings = read(section);
  auto model = std::make_unique<Gpt>(settings, parameters);
  const auto unmatched = parameters.start_at_zero(settings.zero);
  if (!unmatched.empty())
    throw section.table("initialization")
        .error("zero", "no parameter of the model matches '" + unmatched.front() + "'",
               "one parameter is named '" + parameters.items().back().name + "'");
  return model;
}

const Register<Model> registration{"gpt", build};

}  // namespace
}  // namespace exprun
