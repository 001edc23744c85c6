#include "kernels/layer_norm_rows.h"

#include <algorithm>
#include <cmath>

#include "kernels/vector.h"

namespace exprun {
namespace {

using vector::Floats;
using vector::kLanes;

// Calls visit(first element, how many) for every vector of a row; only the last may be partial.
template <class Visit>
EXPRUN_INLINE void for_each_vector(int64_t width, const Visit& visit) {
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) visit(i, kLanes);
  if (i < width) visit(i, width - i);
}

EXPRUN_INLINE Floats load(const float* from, int64_t count) {
  return count == kLanes ? vector::load(from) : vector::load(from, count);
}

EXPRUN_INLINE void store(float* to, const Floats& x, int64_t count) {
  if (count == kLanes)
    vector::store(to, x);
  else
    vector::store(to, x, count);
}

// The variance from differences to the mean: exact where the mean is large.
EXPRUN_INLINE RowStatistics statistics_of(const float* x, int64_t width, float eps) {
  Floats total = {};
  for_each_vector(width, [&](int64_t i, int64_t count) { total += load(x + i, count); });
  const float mean = vector::sum(total) / static_cast<float>(width);
  Floats squares = {};
  for_each_vector(width, [&](int64_t i, int64_t count) {
    Floats difference = load(x + i, count) - mean;
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
    for_each_vector(width, [&](int64_t i, int64_t count) {
      const Floats normal = (load(x + i, count) - found.mean) * found.inverse_deviation;
      const Floats shift = bias ? load(bias + i, count) : Floats{};
      store(out + i, normal * load(weight + i, count) + shift, count);
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
    for_each_vector(width, [&](int64_t i, int64_t count) {
      const Floats normal = (load(x + i, count) - mean) * inverse_deviation;
      const Floats given = load(of_out + i, count);
      const Floats scaled = given * load(weight + i, count);
      total += scaled;
      along += scaled * normal;
      store(gradients.weight + i, load(gradients.weight + i, count) + given * normal, count);
      if (gradients.bias) store(gradients.bias + i, load(gradients.bias + i, count) + given, count);
    });
    const float shift = vector::sum(total) / static_cast<float>(width);
    const float slope = vector::sum(along) / static_cast<float>(width);
    for_each_vector(width, [&](int64_t i, int64_t count) {
      const Floats normal = (load(x + i, count) - mean) * inverse_deviation;
      const Floats scaled = load(of_out + i, count) * load(weight + i, count);
      store(of_x + i, (scaled - shift - normal * slope) * inverse_deviation, count);
    });
  }
}

}  // namespace exprun
