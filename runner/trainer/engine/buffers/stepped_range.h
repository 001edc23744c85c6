// Weights as an optimizer sees them: values and gradients in the format of its state, copied where
// they are stored in another.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "engine/optimizer.h"

namespace exprun {

class SteppedRange {
 public:
  // `stored` may have a matrix's shape.
  SteppedRange(const FlatRange& stored, at::ScalarType format);

  // What an optimizer is built with and steps; its values' .grad are its gradients. Copies are
  // there from fill() to drop() only, and when it has just been built.
  const FlatRange& seen() const { return seen_; }
  bool copies_values() const { return copies_values_; }

  void fill();
  // Copied values go back, rounded to the nearest.
  void store();
  // The same stochastically, of [begin, begin + count): what is drawn is a function of `key` and
  // the place, counted from `first`.
  void store_stochastically(int64_t begin, int64_t count, uint64_t key, int64_t first);
  void drop();

 private:
  FlatRange stored_;
  FlatRange seen_;
  bool copies_values_;
  bool copies_gradients_;
};

}  // namespace exprun
