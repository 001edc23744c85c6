#include "kernels/attention_head.h"

#include <algorithm>
#include <limits>

#include "kernels/tile.h"

namespace exprun {
namespace {

using vector::Floats;
using vector::Ints;
using vector::kLanes;
using vector::Rows;
using vector::WritableRows;

constexpr Ints kLaneIndex = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// A head with the sizes that its matrices have in scratch memory, and what is left of that.
struct Workspace {
  const HeadShape& shape;
  float* next;
  int64_t length = shape.padded_length();
  int64_t width = shape.padded_width();

  EXPRUN_INLINE WritableRows take(int64_t rows, int64_t columns) {
    const WritableRows matrix{next, columns};
    next += rows * columns;
    return matrix;
  }

  EXPRUN_INLINE bool is_padded() const { return length != shape.length || width != shape.width; }

  // A (T, D) matrix where it lies, or padded with zeros.
  EXPRUN_INLINE Rows input(const float* from, int64_t stride) {
    if (!is_padded()) return {from, stride};
    const auto copy = take(length, width);
    std::fill_n(copy.data, length * width, 0.0f);
    for (int64_t t = 0; t < shape.length; ++t)
      std::copy_n(from + t * stride, shape.width, copy.row(t));
    return copy;
  }

  EXPRUN_INLINE Rows transposed(Rows matrix) {
    const auto result = take(width, length);
    vector::transpose(matrix, result, length, width);
    return result;
  }

  // Where to write a (T, D) result; finish() brings a padded one to its place.
  EXPRUN_INLINE WritableRows output(float* to, int64_t stride) {
    return is_padded() ? take(length, width) : WritableRows{to, stride};
  }
  EXPRUN_INLINE void finish(WritableRows result, float* to, int64_t stride) const {
    if (!is_padded()) return;
    for (int64_t t = 0; t < shape.length; ++t)
      std::copy_n(result.row(t), shape.width, to + t * stride);
  }
};

// Scores of a row become weights: those of positions behind `row` zero, the others summing to one.
EXPRUN_INLINE void softmax(float* scores, int64_t row, int64_t columns, float scale) {
  const Floats lowest = Floats{} - std::numeric_limits<float>::infinity();
  const auto last = static_cast<int32_t>(row);
  Floats best = lowest;
  for (int64_t j = 0; j < columns; j += kLanes) {
    const Ints position = kLaneIndex + static_cast<int32_t>(j);
    best = vector::larger(position <= last ? vector::load(scores + j) : lowest, best);
  }
  const float largest = vector::largest(best);
  Floats total = {};
  for (int64_t j = 0; j < columns; j += kLanes) {
    const Ints position = kLaneIndex + static_cast<int32_t>(j);
    const Floats e = vector::exp((vector::load(scores + j) - largest) * scale);
    const Floats weight = position <= last ? e : Floats{};
    vector::store(scores + j, weight);
    total += weight;
  }
  const float share = 1 / vector::sum(total);
  for (int64_t j = 0; j < columns; j += kLanes)
    vector::store(scores + j, vector::load(scores + j) * share);
}

// Weights of the 16 rows from `first` on; columns from first + 16 on are not written.
EXPRUN_INLINE void weights_of_rows(const Workspace& work, Rows query, Rows key_transposed,
                                   int64_t first, WritableRows weights) {
  const int64_t columns = first + kLanes;
  vector::product({query.row(first), query.stride, 1}, key_transposed,
                  {weights.row(first), weights.stride}, kLanes, columns, work.width);
  for (int64_t row = first; row < first + kLanes; ++row)
    softmax(weights.row(row), row, columns, work.shape.scale);
}

// The gradient of a row's scores from that of its weights, in place.
EXPRUN_INLINE void softmax_gradient(const float* weights, float* gradient, int64_t columns,
                                    float scale) {
  Floats total = {};
  for (int64_t j = 0; j < columns; j += kLanes)
    total += vector::load(weights + j) * vector::load(gradient + j);
  const float mean = vector::sum(total);
  for (int64_t j = 0; j < columns; j += kLanes)
    vector::store(gradient + j,
                  vector::load(weights + j) * (vector::load(gradient + j) - mean) * scale);
}

// by_row^T x of_row: a key or value has a part in the rows from its own on.
EXPRUN_INLINE void gather(const Workspace& work, Rows by_row, Rows of_row, WritableRows out) {
  for (int64_t first = 0; first < work.length; first += kLanes)
    vector::product({by_row.row(first) + first, 1, by_row.stride},
                    {of_row.row(first), of_row.stride}, {out.row(first), out.stride}, kLanes,
                    work.width, work.length - first);
}

}  // namespace

int64_t HeadShape::scratch_size() const {
  return 2 * padded_length() * padded_length() + 9 * padded_length() * padded_width();
}

EXPRUN_MULTIVERSION void attention_head(const HeadShape& shape, const HeadInputs& inputs,
                                        float* out, int64_t out_stride, float* scratch) {
  Workspace work{shape, scratch};
  const auto query = work.input(inputs.query, shape.stride);
  const auto value = work.input(inputs.value, shape.stride);
  const auto key_transposed = work.transposed(work.input(inputs.key, shape.stride));
  const auto weights = work.take(work.length, work.length);
  const auto mixed = work.output(out, out_stride);
  for (int64_t first = 0; first < work.length; first += kLanes) {
    weights_of_rows(work, query, key_transposed, first, weights);
    vector::product({weights.row(first), weights.stride, 1}, value,
                    {mixed.row(first), mixed.stride}, kLanes, work.width, first + kLanes);
  }
  work.finish(mixed, out, out_stride);
}

EXPRUN_MULTIVERSION void attention_head_gradient(const HeadShape& shape, const HeadInputs& inputs,
                                                 const float* out_gradient, int64_t out_stride,
                                                 const HeadGradients& gradients, float* scratch) {
  Workspace work{shape, scratch};
  const auto query = work.input(inputs.query, shape.stride);
  const auto key = work.input(inputs.key, shape.stride);
  const auto key_transposed = work.transposed(key);
  const auto value_transposed = work.transposed(work.input(inputs.value, shape.stride));
  const auto of_mixed = work.input(out_gradient, out_stride);
  const auto weights = work.take(work.length, work.length);
  const auto scores = work.take(work.length, work.length);

  const auto of_query = work.output(gradients.query, shape.stride);
  for (int64_t first = 0; first < work.length; first += kLanes) {
    const int64_t columns = first + kLanes;
    weights_of_rows(work, query, key_transposed, first, weights);
    vector::product({of_mixed.row(first), of_mixed.stride, 1}, value_transposed,
                    {scores.row(first), scores.stride}, kLanes, columns, work.width);
    for (int64_t row = first; row < columns; ++row)
      softmax_gradient(weights.row(row), scores.row(row), columns, shape.scale);
    vector::product({scores.row(first), scores.stride, 1}, key,
                    {of_query.row(first), of_query.stride}, kLanes, work.width, columns);
  }
  work.finish(of_query, gradients.query, shape.stride);

  const auto of_key = work.output(gradients.key, shape.stride);
  gather(work, scores, query, of_key);
  work.finish(of_key, gradients.key, shape.stride);
  const auto of_value = work.output(gradients.value, shape.stride);
  gather(work, weights, of_mixed, of_value);
  work.finish(of_value, gradients.value, shape.stride);
}

}  // namespace exprun
