// Products of small matrices that lie in cache, in registers: what attention of one head is made
// of.
#pragma once

#include "kernels/vector.h"

namespace exprun::vector {

// Element (row, k) is at data[row * row_stride + k * step], so a transposed matrix is one as well.
struct Left {
  const float* data;
  int64_t row_stride;
  int64_t step;
};

// Rows of contiguous elements.
struct Rows {
  const float* data;
  int64_t stride;

  EXPRUN_INLINE const float* row(int64_t index) const { return data + index * stride; }
};

struct WritableRows {
  float* data;
  int64_t stride;

  EXPRUN_INLINE float* row(int64_t index) const { return data + index * stride; }
  EXPRUN_INLINE operator Rows() const { return {data, stride}; }
};

// `Height` rows and `Width` vectors of left x right, summed over `inner`.
template <int Height, int Width>
EXPRUN_INLINE void tile(Left left, Rows right, WritableRows out, int64_t inner) {
  Floats sums[Height][Width];
#pragma GCC unroll 8
  for (int h = 0; h < Height; ++h) {
#pragma GCC unroll 4
    for (int w = 0; w < Width; ++w) sums[h][w] = Floats{};
  }
  for (int64_t k = 0; k < inner; ++k) {
    Floats columns[Width];
#pragma GCC unroll 4
    for (int w = 0; w < Width; ++w) columns[w] = load(right.row(k) + w * kLanes);
#pragma GCC unroll 8
    for (int h = 0; h < Height; ++h) {
      const float factor = left.data[h * left.row_stride + k * left.step];
#pragma GCC unroll 4
      for (int w = 0; w < Width; ++w) sums[h][w] += factor * columns[w];
    }
  }
#pragma GCC unroll 8
  for (int h = 0; h < Height; ++h) {
#pragma GCC unroll 4
    for (int w = 0; w < Width; ++w) store(out.row(h) + w * kLanes, sums[h][w]);
  }
}

// out (rows, columns) = left (rows, inner) x right (inner, columns); rows and columns are
// multiples of 16.
EXPRUN_INLINE void product(Left left, Rows right, WritableRows out, int64_t rows, int64_t columns,
                           int64_t inner) {
  constexpr int kHeight = 8, kWidth = 2;
  for (int64_t row = 0; row < rows; row += kHeight) {
    const Left part{left.data + row * left.row_stride, left.row_stride, left.step};
    int64_t column = 0;
    for (; column + kWidth * kLanes <= columns; column += kWidth * kLanes)
      tile<kHeight, kWidth>(part, {right.data + column, right.stride},
                            {out.row(row) + column, out.stride}, inner);
    if (column < columns)
      tile<kHeight, 1>(part, {right.data + column, right.stride},
                       {out.row(row) + column, out.stride}, inner);
  }
}

EXPRUN_INLINE Floats zip_low(const Floats& a, const Floats& b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

EXPRUN_INLINE Floats zip_high(const Floats& a, const Floats& b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}

// A block of 16 x 16: zipping the upper with the lower half four times transposes it.
EXPRUN_INLINE void transpose_block(Rows from, WritableRows to) {
  Floats block[kLanes], zipped[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) block[i] = load(from.row(i));
#pragma GCC unroll 4
  for (int round = 0; round < 4; ++round) {
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      zipped[2 * i] = zip_low(block[i], block[i + kLanes / 2]);
      zipped[2 * i + 1] = zip_high(block[i], block[i + kLanes / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) block[i] = zipped[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) store(to.row(i), block[i]);
}

// to (columns, rows) = from (rows, columns) transposed; both are multiples of 16.
EXPRUN_INLINE void transpose(Rows from, WritableRows to, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; row += kLanes)
    for (int64_t column = 0; column < columns; column += kLanes)
      transpose_block({from.row(row) + column, from.stride}, {to.row(column) + row, to.stride});
}

}  // namespace exprun::vector
