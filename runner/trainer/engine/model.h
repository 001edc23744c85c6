// What a model is to the engine. model/<name>.cpp implements it and registers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "engine/dataset.h"
#include "engine/inference/key_value_cache.h"
#include "engine/parameter.h"
#include "engine/registry.h"
#include "recipe/section.h"

namespace exprun {

// Targets with this value count neither in the loss nor in the number of valid tokens.
inline constexpr int64_t kIgnoredTarget = -1;

class Model {
 public:
  using Factory = std::unique_ptr<Model> (*)(const Section& section, ParameterList& parameters);

  virtual ~Model() = default;

  // Cross entropy in nats, summed over the valid targets; fp32, 0-dim, differentiable. The engine
  // divides by the number of valid tokens of the global batch.
  virtual at::Tensor loss_sum(const at::Tensor& inputs,        // (B, T) int64, on its device
                              const at::Tensor& targets) = 0;  // (B, T) int64, there too

  // The same of documents that lie one after another, inputs and targets (1, N): no token attends
  // to another document, positions begin anew with each.
  virtual at::Tensor packed_loss_sum(const at::Tensor&, const at::Tensor&, const Documents&) {
    throw std::logic_error("model: it does not keep packed documents apart");
  }

  // (B, T) on its device -> (B, T, V), for sampling and evaluation.
  virtual at::Tensor logits(const at::Tensor& inputs) = 0;

  // Generation. The logits after the last of `tokens`, (B, T) -> (B, V): they follow those that
  // the cache has seen, which keeps theirs too; together they are at most context_length(). All
  // tokens of a text at first, then one at a time. Without gradients, not in training.
  virtual bool has_cache() const { return false; }
  virtual at::Tensor next_logits(const at::Tensor&, KeyValueCache&) {
    throw std::logic_error("model: it has no cache");
  }

  virtual int64_t context_length() const = 0;
  virtual int64_t vocab_size() const = 0;

  // Forward and backward, by convention P: 6N + 12 L C T a token, N without position embeddings
  // (Chowdhery et al. 2022, appendix B).
  virtual double flops_per_token(int64_t sequence_length) const = 0;

  // Bytes that a micro-batch takes at most in forward and backward, beside weights and their
  // gradients: what forward keeps for backward, and what both need for a moment; an estimate.
  virtual double activation_bytes(int64_t sequences, int64_t sequence_length,
                                  at::DeviceType device) const = 0;

  // Under ZeRO-1 new values of parameters come from other ranks while the forward pass computes
  // with those that are there. A model that announces what it is about to use waits for no more
  // than that; for any other the engine awaits all values first.
  virtual bool announces_use() const { return false; }
  using Await = std::function<void(size_t)>;
  void await_values_by(Await await) { await_ = std::move(await); }

  // Dropout is active in training only.
  void set_training(bool training) { training_ = training; }
  bool training() const { return training_; }

  // The gradient that backward, once after each loss_sum from now on, will give it. A head that
  // computes its gradients in forward multiplies by it before it rounds them to fp16, and may add
  // its weight's at once.
  void promise_loss_gradient(double gradient) { loss_gradient_ = gradient; }
  std::optional<double> promised_loss_gradient() const { return loss_gradient_; }

  // Where its parameters are.
  void set_device(at::Device device) { device_ = device; }
  at::Device device() const { return device_; }

 protected:
  // The first `count` parameters, in the order in which the model has declared them.
  void about_to_use(size_t count) const {
    if (await_) await_(count);
  }

 private:
  Await await_;
  bool training_ = true;
  std::optional<double> loss_gradient_;
  at::Device device_ = at::kCPU;
};

// Of a batch as its dataset gives it, packed or not.
inline at::Tensor loss_sum_of(Model& model, const Batch& batch) {
  return batch.is_packed() ? model.packed_loss_sum(batch.inputs, batch.targets, batch.documents())
                           : model.loss_sum(batch.inputs, batch.targets);
}

}  // namespace exprun
