// A row times a matrix of fp32 or bf16, summed in fp32. Compiled once for each instruction set, as
// kernels/simd-inl.h.
#if defined(EXPRUN_KERNELS_DOT_PRODUCTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EXPRUN_KERNELS_DOT_PRODUCTS_INL_H
#undef EXPRUN_KERNELS_DOT_PRODUCTS_INL_H
#else
#define EXPRUN_KERNELS_DOT_PRODUCTS_INL_H
#endif

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {

// Four sums hide the latency of an addition. Rows are read one after another, as they lie: memory
// is slower for several streams at a time.
template <class Element>
HWY_INLINE float dot_product(const float* x, const Element* row, int64_t in) {
  Floats a = hn::Zero(kFloats), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 * kLanes <= in; i += 4 * kLanes) {
    const auto product = [&](int64_t k, Floats to) HWY_ATTR {
      const int64_t at = i + k * kLanes;
      return hn::MulAdd(load(x + at), load_some(row + at, kLanes), to);
    };
    a = product(0, a);
    b = product(1, b);
    c = product(2, c);
    d = product(3, d);
  }
  for_each_vector(in - i, [&](int64_t at, int64_t count) HWY_ATTR {
    a = hn::MulAdd(load_some(x + i + at, count), load_some(row + i + at, count), a);
  });
  return sum(hn::Add(hn::Add(a, b), hn::Add(c, d)));
}

// x (in) and the matrix (rows, in) -> out (rows).
template <class Element>
HWY_INLINE void dot_products(const float* x, const Element* matrix, int64_t in, int64_t rows,
                             float* out) {
  for (int64_t row = 0; row < rows; ++row) out[row] = dot_product(x, matrix + row * in, in);
}

}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#endif
