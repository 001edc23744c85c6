// Products of small matrices that lie in cache, in registers: what attention of one head is made
// of; and of a row with a matrix, in fp32 or bf16, summed in fp32. Compiled once for each
// instruction set, as kernels/simd-inl.h.
#if defined(EXPRUN_KERNELS_MATRIX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef EXPRUN_KERNELS_MATRIX_INL_H
#undef EXPRUN_KERNELS_MATRIX_INL_H
#else
#define EXPRUN_KERNELS_MATRIX_INL_H
#endif

#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {

// A tile of kTileRows x 2 vectors of sums, 2 of the right matrix and one factor fill the 16
// registers of AVX2; AVX-512 has 32.
inline constexpr int64_t kTileRows = kLanes >= 16 ? 12 : 6;

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

  HWY_INLINE const float* row(int64_t index) const { return data + index * stride; }
};

struct WritableRows {
  float* data;
  int64_t stride;

  HWY_INLINE float* row(int64_t index) const { return data + index * stride; }
  HWY_INLINE operator Rows() const { return {data, stride}; }
};

// `Height` rows and `Width` vectors of left x right, summed over `inner`, stored or added.
template <int Height, int Width>
HWY_INLINE void tile(Left left, Rows right, WritableRows out, int64_t inner, bool add) {
  Floats sums[Height][Width];
#pragma GCC unroll 16
  for (int h = 0; h < Height; ++h) {
#pragma GCC unroll 4
    for (int w = 0; w < Width; ++w)
      sums[h][w] = add ? load(out.row(h) + w * kLanes) : hn::Zero(kFloats);
  }
  const float* factors = left.data;
  const float* columns = right.data;
  for (int64_t k = 0; k < inner; ++k, factors += left.step, columns += right.stride) {
    Floats vectors[Width];
#pragma GCC unroll 4
    for (int w = 0; w < Width; ++w) vectors[w] = load(columns + w * kLanes);
#pragma GCC unroll 16
    for (int h = 0; h < Height; ++h) {
      const Floats factor = hn::Set(kFloats, factors[h * left.row_stride]);
#pragma GCC unroll 4
      for (int w = 0; w < Width; ++w) sums[h][w] = hn::MulAdd(factor, vectors[w], sums[h][w]);
    }
  }
#pragma GCC unroll 16
  for (int h = 0; h < Height; ++h) {
#pragma GCC unroll 4
    for (int w = 0; w < Width; ++w) store(out.row(h) + w * kLanes, sums[h][w]);
  }
}

template <int Height>
HWY_INLINE void tiles(Left left, Rows right, WritableRows out, int64_t columns, int64_t inner,
                      bool add) {
  int64_t column = 0;
  for (; column + 2 * kLanes <= columns; column += 2 * kLanes)
    tile<Height, 2>(left, {right.data + column, right.stride}, {out.data + column, out.stride},
                    inner, add);
  if (column < columns)
    tile<Height, 1>(left, {right.data + column, right.stride}, {out.data + column, out.stride},
                    inner, add);
}

// The last rows: fewer than a tile has.
template <int Height>
HWY_INLINE void last_tiles(int64_t rows, Left left, Rows right, WritableRows out, int64_t columns,
                           int64_t inner, bool add) {
  if (rows == Height)
    tiles<Height>(left, right, out, columns, inner, add);
  else if constexpr (Height > 1)
    last_tiles<Height - 1>(rows, left, right, out, columns, inner, add);
}

// out (rows, columns) = or += left (rows, inner) x right (inner, columns); `columns` is a multiple
// of kLanes.
inline HWY_NOINLINE void product(Left left, Rows right, WritableRows out, int64_t rows,
                                 int64_t columns, int64_t inner, bool add) {
  for (; rows >= kTileRows; rows -= kTileRows) {
    tiles<kTileRows>(left, right, out, columns, inner, add);
    left.data += kTileRows * left.row_stride;
    out.data += kTileRows * out.stride;
  }
  if (rows > 0) last_tiles<kTileRows - 1>(rows, left, right, out, columns, inner, add);
}

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void transpose_block(Rows from, WritableRows to) {
  *to.data = *from.data;
}
#else
// Blocks of kLanes x kLanes: 4 x 4 inside of each 128 bits, then the 128-bit parts among the rows.
HWY_INLINE void transpose_block(Rows from, WritableRows to) {
  constexpr int kSize = static_cast<int>(kLanes);
  const hn::Repartition<double, FloatTag> pairs;
  Floats rows[kSize];
#pragma GCC unroll 16
  for (int i = 0; i < kSize; ++i) rows[i] = load(from.row(i));
#pragma GCC unroll 4
  for (int i = 0; i < kSize; i += 4) {
    const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(kFloats, rows[i], rows[i + 1]));
    const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(kFloats, rows[i], rows[i + 1]));
    const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(kFloats, rows[i + 2], rows[i + 3]));
    const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(kFloats, rows[i + 2], rows[i + 3]));
    rows[i] = hn::BitCast(kFloats, hn::InterleaveLower(pairs, low01, low23));
    rows[i + 1] = hn::BitCast(kFloats, hn::InterleaveUpper(pairs, low01, low23));
    rows[i + 2] = hn::BitCast(kFloats, hn::InterleaveLower(pairs, high01, high23));
    rows[i + 3] = hn::BitCast(kFloats, hn::InterleaveUpper(pairs, high01, high23));
  }
  // rows[4 g + c] holds column 4 p + c of rows 4 g to 4 g + 3 in its 128-bit part p.
#if HWY_MAX_BYTES >= 32
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
#if HWY_MAX_BYTES == 32
    const Floats a = rows[c], b = rows[c + 4];
    rows[c] = hn::ConcatLowerLower(kFloats, b, a);
    rows[c + 4] = hn::ConcatUpperUpper(kFloats, b, a);
#else
    const Floats a = rows[c], b = rows[c + 4], e = rows[c + 8], f = rows[c + 12];
    const Floats low_a = hn::ConcatLowerLower(kFloats, e, a);
    const Floats low_b = hn::ConcatLowerLower(kFloats, f, b);
    const Floats high_a = hn::ConcatUpperUpper(kFloats, e, a);
    const Floats high_b = hn::ConcatUpperUpper(kFloats, f, b);
    rows[c] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(low_b), low_a);
    rows[c + 4] = hn::OddEvenBlocks(low_b, hn::SwapAdjacentBlocks(low_a));
    rows[c + 8] = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high_b), high_a);
    rows[c + 12] = hn::OddEvenBlocks(high_b, hn::SwapAdjacentBlocks(high_a));
#endif
  }
#endif
#pragma GCC unroll 16
  for (int i = 0; i < kSize; ++i) store(to.row(i), rows[i]);
}
#endif

// to (columns, rows) = from (rows, columns) transposed. Rows of `to` have room for whole vectors,
// whose last elements become zero.
inline HWY_NOINLINE void transpose(Rows from, WritableRows to, int64_t rows, int64_t columns) {
  const int64_t whole_rows = rows / kLanes * kLanes, whole_columns = columns / kLanes * kLanes;
  const int64_t padded = (rows + kLanes - 1) / kLanes * kLanes;
  for (int64_t row = 0; row < whole_rows; row += kLanes)
    for (int64_t column = 0; column < whole_columns; column += kLanes)
      transpose_block({from.row(row) + column, from.stride}, {to.row(column) + row, to.stride});
  for (int64_t column = 0; column < columns; ++column) {
    float* out = to.row(column);
    for (int64_t row = column < whole_columns ? whole_rows : 0; row < rows; ++row)
      out[row] = from.row(row)[column];
    for (int64_t row = rows; row < padded; ++row) out[row] = 0;
  }
}

// Four sums hide the latency of an addition. Rows are read one after another, as they lie: memory
// is slower for several streams at a time. What comes next is asked for early, also across the end
// of a row.
template <class Element>
HWY_INLINE float dot_product(const float* x, const Element* row, int64_t in) {
  constexpr size_t kLine = 64, kAhead = 1024;  // bytes
  Floats a = hn::Zero(kFloats), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 * kLanes <= in; i += 4 * kLanes) {
    const auto product = [&](int64_t k, Floats to) HWY_ATTR {
      const int64_t at = i + k * kLanes;
      return hn::MulAdd(load(x + at), load_some(row + at, kLanes), to);
    };
    for (size_t byte = 0; byte < 4 * kLanes * sizeof(Element); byte += kLine)
      __builtin_prefetch(reinterpret_cast<const char*>(row + i) + kAhead + byte);
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
