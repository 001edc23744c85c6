// A row of floats as vectors, the last of which may be partial: what kernels over rows are made of.
#pragma once

#include "kernels/vector.h"

// For a lambda: what it calls is inlined into each version of the kernel that it stands in.
#define EXPRUN_INLINE_LAMBDA __attribute__((always_inline))

namespace exprun::vector {

// Calls visit(first element, how many) for every vector of a row; only the last may be partial.
template <class Visit>
EXPRUN_INLINE void for_each_vector(int64_t width, const Visit& visit) {
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) visit(i, kLanes);
  if (i < width) visit(i, width - i);
}

EXPRUN_INLINE Floats load_some(const float* from, int64_t count) {
  return count == kLanes ? load(from) : load(from, count);
}

EXPRUN_INLINE void store_some(float* to, const Floats& x, int64_t count) {
  if (count == kLanes)
    store(to, x);
  else
    store(to, x, count);
}

}  // namespace exprun::vector
