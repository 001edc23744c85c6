// The smallest model of tokens: an embedding and three linear layers, each token by itself, with
// PyTorch's initial weights.
#include <ATen/ops/embedding.h>

#include "engine/model.h"
#include "kernels/activation.h"
#include "kernels/cross_entropy.h"
#include "layers/linear.h"

namespace exprun {
namespace {

class Mlp final : public Model {
 public:
  Mlp(const Section& section, ParameterList& parameters)
      : context_length_(section.get<int64_t>("context_length")),
        vocab_size_(section.get<int64_t>("vocab_size")) {
    const auto width = section.get<int64_t>("hidden_size");
    const auto weights = InitialWeights::pytorch();
    token_embedding_ = parameters.add("token_embedding.weight", ParameterClass::embedding,
                                      {vocab_size_, width}, weights.embedding());
    up_projection_ =
        Linear::declare(parameters, "up_projection", {width, 4 * width, true}, weights);
    down_projection_ =
        Linear::declare(parameters, "down_projection", {4 * width, width, true}, weights);
    head_ = Linear::declare(parameters, "head", {width, vocab_size_, true}, weights);
    for (const Parameter& parameter : parameters.items()) tensors_.push_back(parameter.tensor);
  }

  at::Tensor loss_sum(const at::Tensor& inputs, const at::Tensor& targets) override {
    return cross_entropy_aten(logits(inputs).flatten(0, 1), targets.reshape({-1}), vocab_size_);
  }

  // Each token is by itself in any case.
  at::Tensor packed_loss_sum(const at::Tensor& inputs, const at::Tensor& targets,
                             const Documents&) override {
    return loss_sum(inputs, targets);
  }

  at::Tensor logits(const at::Tensor& inputs) override {  // (B, T) -> (B, T, V)
    const auto x = at::embedding(token_embedding_, inputs);
    const auto up = activation(up_projection_(x), ActivationForm::gelu);
    return head_(activation(down_projection_(up), ActivationForm::gelu)).to(at::kFloat);
  }

  int64_t context_length() const override { return context_length_; }
  int64_t vocab_size() const override { return vocab_size_; }

  double flops_per_token(int64_t) const override {
    double flops = 0;
    bool has_backward = false;
    for (const at::Tensor& tensor : tensors_) {
      has_backward = has_backward || tensor.requires_grad();
      const double each = tensor.requires_grad() ? 6 : has_backward ? 4 : 2;
      flops += each * static_cast<double>(tensor.numel());
    }
    return flops;
  }

  // The embedded token, each GELU's slope and value, and the logits with their softmax.
  double activation_bytes(int64_t sequences, int64_t sequence_length,
                          at::DeviceType) const override {
    const auto width = static_cast<double>(token_embedding_.size(1));
    const double a_token = 11 * width + 2 * static_cast<double>(vocab_size_);
    return sizeof(float) * a_token * static_cast<double>(sequences * sequence_length);
  }

 private:
  int64_t context_length_;
  int64_t vocab_size_;
  at::Tensor token_embedding_;       // (V, C)
  Linear up_projection_;             // (4C, C)
  Linear down_projection_;           // (C, 4C)
  Linear head_;                      // (V, C)
  std::vector<at::Tensor> tensors_;  // all parameters, as declared
};

std::unique_ptr<Model> build(const Section& section, ParameterList& parameters) {
  return std::make_unique<Mlp>(section, parameters);
}

const Register<Model> registration{"mlp", build};

}  // namespace
}  // namespace exprun
