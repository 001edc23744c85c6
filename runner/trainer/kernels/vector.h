// Sixteen floats at a time, on the compiler's vector types: one source for AVX-512, AVX2 and
// anything else. A kernel marked EXPRUN_MULTIVERSION is compiled for each and picked at start-up;
// what it calls here is inlined into each version.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define EXPRUN_MULTIVERSION \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EXPRUN_MULTIVERSION
#endif

#define EXPRUN_INLINE inline __attribute__((always_inline))

// Everything here is inlined, so how vectors would be passed to a function does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace exprun::vector {

inline constexpr int64_t kLanes = 16;

using Floats = float __attribute__((vector_size(64)));
using Ints = int32_t __attribute__((vector_size(64)));

EXPRUN_INLINE Floats load(const float* from) {
  Floats x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

EXPRUN_INLINE void store(float* to, const Floats& x) {
  std::memcpy(to, &x, sizeof x);
}

// The first `count` lanes; the others are zero, or left alone.
EXPRUN_INLINE Floats load(const float* from, int64_t count) {
  Floats x = {};
  std::memcpy(&x, from, static_cast<size_t>(count) * sizeof(float));
  return x;
}

EXPRUN_INLINE void store(float* to, const Floats& x, int64_t count) {
  std::memcpy(to, &x, static_cast<size_t>(count) * sizeof(float));
}

// x with its halves of 8, 4, 2 and 1 lanes swapped: four steps reduce all lanes.
EXPRUN_INLINE Floats swap8(const Floats& x) {
  return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
}
EXPRUN_INLINE Floats swap4(const Floats& x) {
  return __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
}
EXPRUN_INLINE Floats swap2(const Floats& x) {
  return __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
}
EXPRUN_INLINE Floats swap1(const Floats& x) {
  return __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
}

// x with the lanes from `count` on set to zero.
EXPRUN_INLINE Floats first_lanes(const Floats& x, int64_t count) {
  const Ints lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return lane < static_cast<int32_t>(count) ? x : Floats{};
}

EXPRUN_INLINE Floats larger(const Floats& a, const Floats& b) {
  return a > b ? a : b;
}

EXPRUN_INLINE float sum(Floats x) {
  x += swap8(x);
  x += swap4(x);
  x += swap2(x);
  return (x + swap1(x))[0];
}

EXPRUN_INLINE float largest(Floats x) {
  x = larger(x, swap8(x));
  x = larger(x, swap4(x));
  x = larger(x, swap2(x));
  return larger(x, swap1(x))[0];
}

// e^x to 1e-7 relative: x = n ln 2 + r, Cephes' polynomial in r. Below -87.3 it is 2^-126.
EXPRUN_INLINE Floats exp(const Floats& argument) {
  const Floats low = Floats{} - 87.33654f, high = Floats{} + 88.37626f;
  Floats x = argument < low ? low : argument;
  x = x > high ? high : x;
  const Floats magic = Floats{} + 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const Floats shifted = x * 1.44269504f + magic;
  const Floats n = shifted - magic;
  const Floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const Ints power = (__builtin_convertvector(n, Ints) + 127) << 23;
  Floats scale;
  std::memcpy(&scale, &power, sizeof scale);
  return p * scale;
}

}  // namespace exprun::vector
