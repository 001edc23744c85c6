// bf16 weights that lose no update on average: a value between two bf16 numbers becomes either,
// with the probability that its distance gives. Most updates of a small learning rate are below
// half a step of bf16 and would be lost by rounding to the nearest.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace exprun {

// fp32 -> bf16; what is drawn for an element is a function of `key` and its place, counted from
// `first`, that of the first of them.
at::Tensor stochastically_rounded(const at::Tensor& values, uint64_t key, int64_t first = 0);

// 16 bits for each of the places [first, first + count), int32: functions of (key, place) alone, on
// any device the same. What GPUs round by; a CPU draws from its generator, which is faster there.
at::Tensor hashed_noise(int64_t first, int64_t count, uint64_t key, at::Device device);

}  // namespace exprun
