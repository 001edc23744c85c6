// The output layer and the loss as one: the logits of a large vocabulary are never kept.
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

// Cross entropy of hidden (N, C) x weight (V', C)^T against targets (N), summed over the targets
// that are not kIgnoredTarget; 0-dim fp32, differentiable. Columns from `vocab_size` on are
// padding: they have no part in the softmax, so they never win and their rows get no gradient.
at::Tensor head_loss_sum(const at::Tensor& hidden, const at::Tensor& weight,
                         const at::Tensor& targets, int64_t vocab_size);

}  // namespace exprun
