// Which backend computes a product of a shape: known from the run or the machine, or measured now.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace exprun {

enum class LinearBackend { aten, onednn };

// One of the three products of a linear layer, for `rows` tokens. They are rounded up to a power of
// two, so that a growing sequence and a last small batch need no measuring of their own.
struct LinearProduct {
  enum class Kind { forward, input_gradient, weight_gradient } kind;
  int64_t rows, in, out;

  LinearProduct(Kind kind, int64_t tokens, int64_t in, int64_t out);

  friend bool operator==(const LinearProduct&, const LinearProduct&) = default;
};

// "forward 1024x128x384": rows, in, out
std::string to_string(const LinearProduct& product);

// `compute` runs the product once with a backend.
LinearBackend choose_backend(const LinearProduct& product,
                             const std::function<void(LinearBackend)>& compute);

}  // namespace exprun
