// From logits to the next token, reproducibly.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace exprun {

// Softmax of logits / temperature over the `top_k` largest (ties included; 0: over all), and of
// those over the most likely that together have `top_p` (Holtzman et al. 2020; 1: over all). At
// temperature 0 all is on the largest. `logits` (V).
std::vector<double> token_probabilities(const at::Tensor& logits, double temperature, int64_t top_k,
                                        double top_p = 1);

// The token at which the cumulative probability passes `uniform`, in [0, 1).
int64_t draw_token(const std::vector<double>& probabilities, double uniform);

}  // namespace exprun
