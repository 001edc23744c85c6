// Cross entropy and its gradient in one pass over the logits, in place: what a fused head uses
// (layers/head.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace exprun {

// logits (N, V') contiguous, of which the first `vocab_size` columns count; targets (N) int64,
// negative ones count nothing. Returns the sum in nats over the counted rows, computed in fp32, as
// a 0-dim fp64 on their device; the logits become its gradient times `factor`, rounded once: zero
// in padded columns and uncounted rows. A CPU, which takes fp32 and bf16, runs our kernel or ATen's
// operators, whichever is the faster for the sizes, another device the operators.
at::Tensor cross_entropy_in_place(at::Tensor& logits, const at::Tensor& targets, int64_t vocab_size,
                                  double factor);

// The same by our kernel: fp32 and bf16 on a CPU.
at::Tensor cross_entropy_in_place_ours(at::Tensor& logits, const at::Tensor& targets,
                                       int64_t vocab_size, double factor);

// By ATen's operators, on any device and in any format; those of a narrow format round twice where
// `factor` is not 1.
at::Tensor cross_entropy_in_place_by_operators(at::Tensor& logits, const at::Tensor& targets,
                                               int64_t vocab_size, double factor);

// The same by ATen, differentiable: what tests compare with.
at::Tensor cross_entropy_aten(const at::Tensor& logits, const at::Tensor& targets,
                              int64_t vocab_size);

}  // namespace exprun
