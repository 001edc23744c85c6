// A decoder-only transformer, composed from its recipe: GPT-2 (Radford et al. 2019) by default,
// with the norms, positions, attention and activations of its successors.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/embedding.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/model.h"
#include "layers/head.h"
#include "layers/norm.h"
#include "layers/recompute.h"
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
  bool checkpoint_activations;
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
    for (const Parameter& parameter : parameters.items()) tensors_.push_back(parameter.tensor);
  }

  bool announces_use() const override { return true; }

  at::Tensor loss_sum(const at::Tensor& inputs, const at::Tensor& targets) override {
    return head_.loss_sum(hidden(inputs).view({-1, settings_.hidden_size}), targets.reshape({-1}),
                          promised_loss_gradient());
  }

  // The head computes what is learned and nothing else.
  at::Tensor packed_loss_sum(const at::Tensor& inputs, const at::Tensor& targets,
                             const Documents& documents) override {
    const auto all = hidden(inputs, &documents).view({-1, settings_.hidden_size});
    return head_.loss_sum(all.index_select(0, documents.learned),
                          targets.view({-1}).index_select(0, documents.learned),
                          promised_loss_gradient());
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

  // Of a frozen parameter there is no gradient (2 of 6 operations); of blocks below all that is
  // trained there is no backward at all (4 of 6, 8 of attention's 12).
  double flops_per_token(int64_t sequence_length) const override {
    const double attention = static_cast<double>(settings_.block.attention.query_width()) *
                             static_cast<double>(sequence_length);
    double flops = 0;
    for (size_t part = 0; part < declared_.size(); ++part) {
      const bool has_backward = is_trained_up_to(part);
      for (size_t i = part == 0 ? 0 : declared_[part - 1]; i < declared_[part]; ++i) {
        const at::Tensor& tensor = tensors_[i];
        if (tensor.is_same(position_embedding_)) continue;
        // The head's weight too, where they are tied.
        const bool is_passed = has_backward || (settings_.tie_embeddings && part == 0);
        const double each = tensor.requires_grad() ? 6 : is_passed ? 4 : 2;
        flops += each * static_cast<double>(tensor.numel());
      }
      if (part > 0 && part + 1 < declared_.size()) flops += (has_backward ? 12 : 4) * attention;
    }
    return flops;
  }

  // A block keeps the inputs of its norms and their outputs (4 widths), queries, keys and values,
  // attention's output, the non-linearity's slope and value; one without a backward keeps nothing.
  // With checkpoint_activations they keep their inputs, and one at a time all of that. The loss
  // keeps the gradients that it computes; its logits exist in chunks only. At the end of
  // backward, when the blocks keep nothing more, the gradient of the embedding is there twice, as
  // it is a sum.
  double activation_bytes(int64_t sequences, int64_t sequence_length,
                          at::DeviceType device) const override {
    const auto& s = settings_;
    const auto width = static_cast<double>(s.hidden_size);
    const auto& attention = s.block.attention;
    const auto of_heads =
        static_cast<double>(2 * attention.query_width() + 2 * attention.key_value_width());
    const double a_block =
        4 * width + of_heads + static_cast<double>(s.block.feed_forward.saved_for_backward());
    int64_t blocks = 0;  // with a backward
    for (size_t part = 1; part + 1 < declared_.size(); ++part) blocks += is_trained_up_to(part);
    const double of_blocks = s.checkpoint_activations && blocks > 0
                                 ? width * static_cast<double>(blocks) + a_block
                                 : a_block * static_cast<double>(blocks);
    const double a_token = of_blocks + 3 * width;
    const int64_t tokens = sequences * sequence_length;
    const double of_embedding =
        token_embedding_.requires_grad() ? static_cast<double>(token_embedding_.nbytes()) : 0;
    const double kept =
        static_cast<double>(at::elementSize(head_.compute)) * a_token * static_cast<double>(tokens);
    return std::max(kept + head_.loss_bytes(tokens, device), of_embedding);
  }

 private:
  // Whether backward comes to a part: 0 the embeddings, then the blocks, and the head.
  bool is_trained_up_to(size_t part) const {
    const auto end = tensors_.begin() + static_cast<std::ptrdiff_t>(declared_[part]);
    return std::any_of(tensors_.begin(), end,
                       [](const at::Tensor& tensor) { return tensor.requires_grad(); });
  }

  // What is trained of block `number`.
  Tensors trained_of(size_t number) const {
    Tensors trained;
    for (size_t i = declared_[number]; i < declared_[number + 1]; ++i)
      if (tensors_[i].requires_grad()) trained.push_back(tensors_[i]);
    return trained;
  }

  // (B, T) -> (B, T, C); the first token is at position `first`, or where the documents say.
  at::Tensor embedded(const at::Tensor& inputs, int64_t first,
                      const Documents* documents = nullptr) const {
    const int64_t length =
        documents ? *std::max_element(documents->lengths.begin(), documents->lengths.end())
                  : inputs.size(1);
    if (first + length > settings_.context_length)
      throw std::logic_error("gpt: a sequence is longer than context_length");
    // On a CPU the rows of the tokens are added to the gradient, where there is one to add to: a
    // dense gradient of its own is as large as the vocabulary.
    const bool sparse = token_embedding_.is_cpu() && token_embedding_.grad().defined();
    auto x = at::embedding(token_embedding_, inputs, -1, false, sparse);
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
    const bool keeps_inputs = settings_.checkpoint_activations && at::GradMode::is_enabled();
    for (size_t i = 0; i < blocks_.size(); ++i) {
      about_to_use(*++declared);
      if (!keeps_inputs) {
        x = blocks_[i](x, training(), documents);
        continue;
      }
      const auto once_more = documents ? std::optional(*documents) : std::nullopt;
      x = recomputed(x, trained_of(i), [this, i, once_more](const at::Tensor& in) {
        return blocks_[i](in, training(), once_more ? &*once_more : nullptr);
      });
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
  Tensors tensors_;               // all parameters, as declared
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
  s.checkpoint_activations = section.get<bool>("checkpoint_activations");
  s.block = BlockSettings::read(section);
  const auto initialization = section.table("initialization");
  s.weights = read_weights(initialization, s.num_layers);
  s.zero = initialization.get<std::vector<std::string>>("zero");
  return s;
}

void add(Diagnostics& mistakes, const RecipeError& error) {
  mistakes.insert(mistakes.end(), error.diagnostics().begin(), error.diagnostics().end());
}

void check_lora(const Section& section, const ParameterList& parameters, Diagnostics& mistakes) {
  if (!parameters.lora()) return;
  const auto& items = parameters.items();
  for (const std::string& target : parameters.lora()->targets) {
    const LoraSettings alone{1, 1, 0, {target}, {}};
    if (std::none_of(items.begin(), items.end(), [&](const Parameter& parameter) {
          return parameter.name.ends_with(kLoraA) &&
                 alone.adapts(std::string_view(parameter.name)
                                  .substr(0, parameter.name.size() - kLoraA.size()));
        }))
      add(mistakes,
          section.table("lora").error(
              "targets", "no linear layer of the blocks matches '" + target + "'",
              "layers are named 'blocks.0.attention.output_projection' and so on; a target is a "
              "glob of such a name or one of its words, such as \"attention\""));
  }
  for (const std::string& glob : parameters.lora()->trained)
    if (std::none_of(items.begin(), items.end(), [&](const Parameter& parameter) {
          return glob_matches(glob, parameter.name);
        }))
      add(mistakes,
          section.table("lora").error("trained", "no parameter of the model matches '" + glob + "'",
                                      "one parameter is named '" + items.front().name + "'"));
}

std::unique_ptr<Model> build(const Section& section, ParameterList& parameters) {
  const Settings settings = read(section);
  parameters.adapt(LoraSettings::read(section));
  auto model = std::make_unique<Gpt>(settings, parameters);
  Diagnostics mistakes;
  for (const std::string& glob : parameters.start_at_zero(settings.zero))
    add(mistakes, section.table("initialization")
                      .error("zero", "no parameter of the model matches '" + glob + "'",
                             "one parameter is named '" + parameters.items().back().name + "'"));
  check_lora(section, parameters, mistakes);
  if (!mistakes.empty()) throw RecipeError(std::move(mistakes));
  return model;
}

const Register<Model> registration{"gpt", build};

}  // namespace
}  // namespace exprun
