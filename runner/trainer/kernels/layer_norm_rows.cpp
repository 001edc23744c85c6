#include "kernels/layer_norm_rows.h"

#include <cmath>

#include "kernels/row_vectors.h"

namespace exprun {
namespace {

using vector::Floats;
using vector::for_each_vector;
using vector::kLanes;
using vector::load_some;
using vector::store_some;

// The variance from differences to the mean: exact where the mean is large.
EXPRUN_INLINE RowStatistics statistics_of(const float* x, int64_t width, float eps) {
  Floats total = {};
  for_each_vector(width, [&](int64_t i, int64_t count)
                             EXPRUN_INLINE_LAMBDA { total += load_some(x + i, count); });
  const float mean = vector::sum(total) / static_cast<float>(width);
  Floats squares = {};
  for_each_vector(width, [&](int64_t i, int64_t count) EXPRUN_INLINE_LAMBDA {
    Floats difference = load_some(x + i, count) - mean;
    if (count < kLanes) difference = vector::first_lanes(difference, count);
    squares += difference * difference;
  });
  const float variance = vector::sum(squares) / static_cast<float>(width);
  return {mean, 1 / std::sqrt(variance + eps)};
}

}  // namespace

EXPRUN_MULTIVERSION void layer_norm_rows(const float* x, const float* weight, const float* bias,
                                         float eps, int64_t rows, int64_t width, float* out,
                                         RowStatistics* statistics) {
  for (int64_t row = 0; row < rows; ++row, x += width, out += width) {
    const auto found = statistics_of(x, width, eps);
    statistics[row] = found;
    for_each_vector(width, [&](int64_t i, int64_t count) EXPRUN_INLINE_LAMBDA {
      const Floats normal = (load_some(x + i, count) - found.mean) * found.inverse_deviation;
      const Floats shift = bias ? load_some(bias + i, count) : Floats{};
      store_some(out + i, normal * load_some(weight + i, count) + shift, count);
    });
  }
}

// With n the normalised row and h = of_out * weight: dx = (h - mean(h) - n mean(h n)) / deviation.
EXPRUN_MULTIVERSION void layer_norm_rows_gradient(const float* x, const float* weight,
                                                  const RowStatistics* statistics,
                                                  const float* of_out, int64_t rows, int64_t width,
                                                  const LayerNormGradients& gradients) {
  float* of_x = gradients.x;
  for (int64_t row = 0; row < rows; ++row, x += width, of_out += width, of_x += width) {
    const auto [mean, inverse_deviation] = statistics[row];
    Floats total = {}, along = {};
    for_each_vector(width, [&](int64_t i, int64_t count) EXPRUN_INLINE_LAMBDA {
      const Floats normal = (load_some(x + i, count) - mean) * inverse_deviation;
      const Floats given = load_some(of_out + i, count);
      const Floats scaled = given * load_some(weight + i, count);
      total += scaled;
      along += scaled * normal;
      store_some(gradients.weight + i, load_some(gradients.weight + i, count) + given * normal,
                 count);
      if (gradients.bias)
        store_some(gradients.bias + i, load_some(gradients.bias + i, count) + given, count);
    });
    const float shift = vector::sum(total) / static_cast<float>(width);
    const float slope = vector::sum(along) / static_cast<float>(width);
    for_each_vector(width, [&](int64_t i, int64_t count) EXPRUN_INLINE_LAMBDA {
      const Floats normal = (load_some(x + i, count) - mean) * inverse_deviation;
      const Floats scaled = load_some(of_out + i, count) * load_some(weight + i, count);
      store_some(of_x + i, (scaled - shift - normal * slope) * inverse_deviation, count);
    });
  }
}

}  // namespace exprun
