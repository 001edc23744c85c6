// A model that asks another for everything: a test overrides what it looks at.
#pragma once

#include "engine/model.h"

namespace exprun {

class DelegatingModel : public Model {
 public:
  // It outlives this one.
  explicit DelegatingModel(Model& model) : model_(model) {
    set_training(model.training());
    set_device(model.device());
  }

  at::Tensor loss_sum(const at::Tensor& inputs, const at::Tensor& targets) override {
    return model_.loss_sum(inputs, targets);
  }
  at::Tensor logits(const at::Tensor& inputs) override { return model_.logits(inputs); }
  bool has_cache() const override { return model_.has_cache(); }
  at::Tensor next_logits(const at::Tensor& tokens, KeyValueCache& cache) override {
    return model_.next_logits(tokens, cache);
  }
  int64_t context_length() const override { return model_.context_length(); }
  int64_t vocab_size() const override { return model_.vocab_size(); }
  double flops_per_token(int64_t length) const override { return model_.flops_per_token(length); }
  double activation_bytes(int64_t sequences, int64_t length, at::DeviceType device) const override {
    return model_.activation_bytes(sequences, length, device);
  }

 private:
  Model& model_;
};

}  // namespace exprun
