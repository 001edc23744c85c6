// The output layer and the loss as one: the logits of a large vocabulary are never kept.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace exprun {

struct Head {
  at::Tensor weight;  // (V', C)
  int64_t vocab_size = 0;
  double softcap = 0;  // logits become softcap * tanh(logits / softcap); 0: they stay
  at::ScalarType compute = at::kFloat;

  // (..., C) -> (..., vocab_size), without the padding, so that sampling cannot draw it.
  at::Tensor logits(const at::Tensor& hidden) const;

  // Cross entropy of hidden (N, C) against targets (N), summed over the targets that are not
  // kIgnoredTarget; 0-dim fp32, differentiable. Rows of the weight from `vocab_size` on are
  // padding: they have no part in the softmax, so they never win and get no gradient. Gradients are
  // computed with the loss: of hidden in `compute`, of the weight in its own format. `promised` is
  // the gradient that the one backward will give: with it those of logits are multiplied before
  // they are rounded to `compute`, so that a loss scale keeps those of unlikely tokens; and on a
  // CPU an fp32 gradient that the weight has is added to at once, for a sum is as large as the
  // weight.
  at::Tensor loss_sum(const at::Tensor& hidden, const at::Tensor& targets,
                      std::optional<double> promised = std::nullopt) const;

  // Bytes that loss_sum() of N rows takes: for a moment those of the logits of a part of them; and
  // until backward those of the weight's gradient, where that is not added to one that it has.
  double loss_bytes(int64_t rows, at::DeviceType device) const;
};

}  // namespace exprun
