// Documents that lie one after another in one row of tokens, without a gap: a token attends to
// those of its own document only, and positions begin anew with each. What packed samples are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace exprun {

struct Documents {
  std::vector<int64_t> lengths;  // of each, in order: N in all
  at::Tensor positions;          // (N) int64, of each token in its document
  at::Tensor learned;            // (K) int64, the places of the targets that may count
  at::Tensor bounds;             // (documents + 1) int32: where each begins, then N
};

}  // namespace exprun
