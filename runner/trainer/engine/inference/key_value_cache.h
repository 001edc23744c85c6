// What a model keeps of the tokens that it has seen, so that the next one costs only itself.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace exprun {

// Keys and values of every layer. generation.h makes it, the model's next_logits() fills it (in
// layers/attention.cpp), and text beyond the model's context is computed without it.
struct KeyValueCache {
  struct Layer {
    at::Tensor keys, values;  // (B, H', capacity, D); undefined before the first tokens
  };
  int64_t capacity = 0;  // positions that there is room for
  int64_t length = 0;    // positions that are filled
  std::vector<Layer> layers;
};

}  // namespace exprun
