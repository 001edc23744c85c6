// bf16 weights that lose no update on average: a value between two bf16 numbers becomes either,
// with the probability that its distance gives. Most updates of a small learning rate are below
// half a step of bf16 and would be lost by rounding to the nearest.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "engine/optimizer.h"

namespace exprun {

// fp32 -> bf16; what is drawn for an element is a function of `key` and its place, counted from
// `first`, that of the first of them.
at::Tensor stochastically_rounded(const at::Tensor& values, uint64_t key, int64_t first = 0);

// 16 bits for each of the places [first, first + count), int32: functions of (key, place) alone, on
// any device the same. What GPUs round by; a CPU draws from its generator, which is faster there.
at::Tensor hashed_noise(int64_t first, int64_t count, uint64_t key, at::Device device);

// A bf16 range that an optimizer steps in fp32, which it sees as `wide`: its state is fp32 then.
class RoundedRange {
 public:
  explicit RoundedRange(const FlatRange& narrow);

  const FlatRange& wide() const { return wide_; }
  // Values and gradients in fp32, for one step.
  void widen();
  // Back to bf16, the [begin, begin + count) of the range.
  void round(int64_t begin, int64_t count, uint64_t key, int64_t first);
  // The fp32 copies are dropped.
  void drop();

 private:
  FlatRange narrow_;
  FlatRange wide_;
};

}  // namespace exprun
