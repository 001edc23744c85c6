// The output layer and the loss as one: the logits of a large vocabulary are never kept.
#pragma once

#include <ATen/core/Tensor.h>

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
  // computed with the loss: of hidden in `compute`, of the weight in its own format. `gradient`,
  // what backward is expected to give (it may give another), is applied before those of logits are
  // rounded to `compute`, so that a loss scale keeps those of unlikely tokens.
  at::Tensor loss_sum(const at::Tensor& hidden, const at::Tensor& targets,
                      double gradient = 1) const;
};

}  // namespace exprun
