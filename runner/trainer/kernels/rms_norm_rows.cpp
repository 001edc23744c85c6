#include "kernels/rms_norm_rows.h"

#include <cmath>

#include "kernels/row_vectors.h"

namespace exprun {
namespace {

using vector::Floats;
using vector::for_each_vector;
using vector::load_some;
using vector::store_some;

EXPRUN_INLINE Floats scale_at(RowScale scale, int64_t i, int64_t count) {
  return scale.weight ? load_some(scale.weight + i, count) + scale.offset : Floats{} + 1.0f;
}

}  // namespace

EXPRUN_MULTIVERSION void rms_norm_rows(const float* x, RowScale scale, float eps, int64_t rows,
                                       int64_t width, float* out, float* inverse_rms) {
  for (int64_t row = 0; row < rows; ++row, x += width, out += width) {
    Floats squares = {};
    for_each_vector(width, [&](int64_t i, int64_t count) EXPRUN_INLINE_LAMBDA {
      const Floats value = load_some(x + i, count);
      squares += value * value;
    });
    const float inverse = 1 / std::sqrt(vector::sum(squares) / static_cast<float>(width) + eps);
    inverse_rms[row] = inverse;
    for_each_vector(width, [&](int64_t i, int64_t count) EXPRUN_INLINE_LAMBDA {
      store_some(out + i, load_some(x + i, count) * inverse * scale_at(scale, i, count), count);
    });
  }
}

// With n the normalised row and h = of_out * scale: dx = (h - n mean(h n)) / rms.
EXPRUN_MULTIVERSION void rms_norm_rows_gradient(const float* x, RowScale scale,
                                                const float* inverse_rms, const float* of_out,
                                                int64_t rows, int64_t width, float* of_x,
                                                float* of_weight) {
  for (int64_t row = 0; row < rows; ++row, x += width, of_out += width, of_x += width) {
    const float inverse = inverse_rms[row];
    Floats along = {};
    for_each_vector(width, [&](int64_t i, int64_t count) EXPRUN_INLINE_LAMBDA {
      const Floats normal = load_some(x + i, count) * inverse;
      const Floats given = load_some(of_out + i, count);
      along += given * scale_at(scale, i, count) * normal;
      if (of_weight)
        store_some(of_weight + i, load_some(of_weight + i, count) + given * normal, count);
    });
    const float slope = vector::sum(along) / static_cast<float>(width);
    for_each_vector(width, [&](int64_t i, int64_t count) EXPRUN_INLINE_LAMBDA {
      const Floats normal = load_some(x + i, count) * inverse;
      const Floats scaled = load_some(of_out + i, count) * scale_at(scale, i, count);
      store_some(of_x + i, (scaled - normal * slope) * inverse, count);
    });
  }
}

}  // namespace exprun
