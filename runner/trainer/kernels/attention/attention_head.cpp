#include "kernels/attention/attention_head.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_head.cpp"
#include "hwy/foreach_target.h"
//
#include "kernels/matrix-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {
namespace {

// Query positions at once; a multiple of kTileRows. Only keys up to the last of them count.
constexpr int64_t kStep = 12;
static_assert(kStep % kTileRows == 0);

// Backward gathers the gradients of keys and values from this many floats of weights at once, which
// stay in the second cache.
constexpr int64_t kBlockFloats = 32768;

// Whole vectors of any instruction set.
int64_t padded(int64_t size) {
  return (size + 15) / 16 * 16;
}

// Of rows of T floats that are read in columns: an odd number of cache lines, so that these do not
// fall on the same ones.
int64_t long_stride(const HeadShape& shape) {
  return (padded(shape.length) / 16 | 1) * 16;
}

int64_t block_rows(const HeadShape& shape) {
  const int64_t rows = std::min(kBlockFloats / long_stride(shape), shape.length);
  return std::max(kStep, (rows + kStep - 1) / kStep * kStep);
}

int64_t scratch_forward(const HeadShape& shape) {
  const int64_t across = long_stride(shape), along = padded(shape.width);
  return shape.width * across + (shape.length + kStep) * along + kStep * across;
}

int64_t scratch_backward(const HeadShape& shape) {
  const int64_t across = long_stride(shape), along = padded(shape.width);
  return 2 * shape.width * across + (5 * shape.length + kStep) * along +
         2 * block_rows(shape) * across;
}

class Scratch {
 public:
  explicit Scratch(float* memory) : next_(memory) {}

  HWY_INLINE WritableRows take(int64_t rows, int64_t stride) {
    const WritableRows matrix{next_, stride};
    next_ += rows * stride;
    return matrix;
  }

 private:
  float* next_;
};

// The rows close to each other, filled up with zeros to whole vectors.
HWY_NOINLINE void pack(Rows from, WritableRows to, int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) store(to.row(row) + i, load(from.row(row) + i));
    if (i < width) store(to.row(row) + i, load_first(from.row(row) + i, width - i));
    for (i += i < width ? kLanes : 0; i < to.stride; i += kLanes)
      store(to.row(row) + i, hn::Zero(kFloats));
  }
}

HWY_INLINE void copy_row(const float* from, float* to, int64_t width, Floats scale) {
  for_each_vector(width, [&](int64_t i, int64_t count) HWY_ATTR {
    store_some(to + i, hn::Mul(load(from + i), scale), count);
  });
}

HWY_NOINLINE void unpack(Rows from, const WritableHeadRows& to, int64_t rows, int64_t width) {
  const Floats one = hn::Set(kFloats, 1.0f);
  for (int64_t row = 0; row < rows; ++row)
    copy_row(from.row(row), to.data + row * to.stride, width, one);
}

// The first `count` scores become weights that are not yet divided by their total, the others up to
// `columns` zero.
HWY_INLINE RowSoftmax softmax(float* scores, int64_t count, int64_t columns, float scale) {
  const int64_t whole = count / kLanes * kLanes;
  const auto last = first_lanes(count - whole);
  Floats best = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
  if (whole < count) best = hn::IfThenElse(last, load(scores + whole), best);
  for (int64_t j = 0; j < whole; j += kLanes) best = hn::Max(best, load(scores + j));
  const float greatest = largest(best);
  const Floats shift = hn::Set(kFloats, greatest), factor = hn::Set(kFloats, scale);
  Floats total = hn::Zero(kFloats);
  int64_t j = 0;
  for (; j < whole; j += kLanes) {
    const Floats e = exp(hn::Mul(hn::Sub(load(scores + j), shift), factor));
    store(scores + j, e);
    total = hn::Add(total, e);
  }
  if (whole < count) {
    const Floats e = exp(hn::Mul(hn::Sub(load(scores + j), shift), factor));
    const Floats counted = hn::IfThenElseZero(last, e);
    store(scores + j, counted);
    total = hn::Add(total, counted);
    j += kLanes;
  }
  for (; j < columns; j += kLanes) store(scores + j, hn::Zero(kFloats));
  return {greatest, 1 / sum(total)};
}

// Scores become weights, and the gradients of the weights those of the scores.
HWY_INLINE void softmax_gradient(float* scores, float* gradients, int64_t count, int64_t columns,
                                 const RowSoftmax& kept, float scale, float mean) {
  const Floats shift = hn::Set(kFloats, kept.largest), factor = hn::Set(kFloats, scale);
  const Floats share = hn::Set(kFloats, kept.inverse_total), center = hn::Set(kFloats, mean);
  const auto weight = [&](int64_t j) HWY_ATTR {
    return hn::Mul(exp(hn::Mul(hn::Sub(load(scores + j), shift), factor)), share);
  };
  const auto gradient = [&](int64_t j, Floats w) HWY_ATTR {
    return hn::Mul(hn::Mul(w, hn::Sub(load(gradients + j), center)), factor);
  };
  const int64_t whole = count / kLanes * kLanes;
  int64_t j = 0;
  for (; j < whole; j += kLanes) {
    const Floats w = weight(j);
    store(scores + j, w);
    store(gradients + j, gradient(j, w));
  }
  if (whole < count) {
    const auto last = first_lanes(count - whole);
    const Floats w = hn::IfThenElseZero(last, weight(j));
    store(scores + j, w);
    store(gradients + j, hn::IfThenElseZero(last, gradient(j, w)));
    j += kLanes;
  }
  for (; j < columns; j += kLanes) {
    store(scores + j, hn::Zero(kFloats));
    store(gradients + j, hn::Zero(kFloats));
  }
}

HWY_INLINE float inner_product(const float* a, const float* b, int64_t width) {
  Floats total = hn::Zero(kFloats);
  for_each_vector(width, [&](int64_t i, int64_t count) HWY_ATTR {
    total = hn::MulAdd(load_some(a + i, count), load_some(b + i, count), total);
  });
  return sum(total);
}

HWY_INLINE int64_t whole_vectors(int64_t columns) {
  return (columns + kLanes - 1) / kLanes * kLanes;
}

void forward(const HeadShape& shape, const HeadInputs& inputs, const WritableHeadRows& out,
             RowSoftmax* kept, float* memory) {
  const int64_t length = shape.length, width = shape.width;
  Scratch scratch(memory);
  const auto keys = scratch.take(width, long_stride(shape));  // transposed
  const auto values = scratch.take(length, padded(width));
  const auto scores = scratch.take(kStep, long_stride(shape));
  const auto mixed = scratch.take(kStep, padded(width));
  transpose({inputs.key.data, inputs.key.stride}, keys, length, width);
  pack({inputs.value.data, inputs.value.stride}, values, length, width);
  for (int64_t head = 0; head < shape.num_queries; ++head, kept += length) {
    const Rows query{inputs.query.data + head * width, inputs.query.stride};
    for (int64_t first = 0; first < length; first += kStep) {
      const int64_t rows = std::min(kStep, length - first), end = first + rows;
      const int64_t columns = whole_vectors(end);
      product({query.row(first), query.stride, 1}, keys, scores, rows, columns, width, false);
      for (int64_t row = 0; row < rows; ++row)
        kept[first + row] = softmax(scores.row(row), first + row + 1, columns, shape.scale);
      product({scores.data, scores.stride, 1}, values, mixed, rows, values.stride, end, false);
      for (int64_t row = 0; row < rows; ++row)
        copy_row(mixed.row(row), out.data + head * width + (first + row) * out.stride, width,
                 hn::Set(kFloats, kept[first + row].inverse_total));
    }
  }
}

// What backward keeps of a key and its value for all query heads.
struct Shared {
  Rows keys, keys_transposed, values_transposed;
  WritableRows of_keys, of_values;
};

// Of one query head, in blocks of positions: the gradient of its queries, and its part in those of
// keys and values.
class HeadGradient {
 public:
  HeadGradient(const HeadShape& shape, const Shared& shared, Scratch& scratch)
      : shape_(shape),
        shared_(shared),
        queries_(scratch.take(shape.length, padded(shape.width))),
        of_out_(scratch.take(shape.length, padded(shape.width))),
        of_queries_(scratch.take(kStep, padded(shape.width))),
        block_(block_rows(shape)),
        weights_(scratch.take(block_, long_stride(shape))),
        scores_(scratch.take(block_, long_stride(shape))) {}

  void run(Rows query, Rows out, const RowSoftmax* kept, Rows of_out,
           const WritableHeadRows& of_query, bool is_first) {
    pack(query, queries_, shape_.length, shape_.width);
    pack(of_out, of_out_, shape_.length, shape_.width);
    for (int64_t begin = 0; begin < shape_.length; begin += block_) {
      const int64_t end = std::min(begin + block_, shape_.length);
      for (int64_t first = begin; first < end; first += kStep)
        rows(begin, first, std::min(first + kStep, end), out, kept, of_query);
      for (int64_t key = 0; key < end; key += kTileRows)
        gather(begin, end, key, !is_first || key < begin);
    }
  }

 private:
  // Weights and gradients of scores of the positions from `first` to `end`.
  HWY_INLINE void rows(int64_t begin, int64_t first, int64_t end, Rows out, const RowSoftmax* kept,
                       const WritableHeadRows& of_query) {
    const int64_t count = end - first, columns = whole_vectors(end), width = shape_.width;
    const WritableRows weights{weights_.row(first - begin), weights_.stride};
    const WritableRows scores{scores_.row(first - begin), scores_.stride};
    product({queries_.row(first), queries_.stride, 1}, shared_.keys_transposed, weights, count,
            columns, width, false);
    product({of_out_.row(first), of_out_.stride, 1}, shared_.values_transposed, scores, count,
            columns, width, false);
    for (int64_t row = 0; row < count; ++row)
      softmax_gradient(weights.row(row), scores.row(row), first + row + 1, columns,
                       kept[first + row], shape_.scale,
                       inner_product(out.row(first + row), of_out_.row(first + row), width));
    product({scores.data, scores.stride, 1}, shared_.keys, of_queries_, count, of_queries_.stride,
            end, false);
    unpack(of_queries_, {of_query.data + first * of_query.stride, of_query.stride}, count, width);
  }

  // kTileRows keys and values from `key` on have a part in the positions of a block from there on.
  HWY_INLINE void gather(int64_t begin, int64_t end, int64_t key, bool add) {
    const int64_t first = std::max(begin, key), rows = std::min(kTileRows, end - key);
    const auto part = [&](WritableRows by_position, WritableRows of_position, WritableRows to)
                          HWY_ATTR {
                            product({by_position.row(first - begin) + key, 1, by_position.stride},
                                    {of_position.row(first), of_position.stride},
                                    {to.row(key), to.stride}, rows, to.stride, end - first, add);
                          };
    part(weights_, of_out_, shared_.of_values);
    part(scores_, queries_, shared_.of_keys);
  }

  const HeadShape& shape_;
  const Shared& shared_;
  const WritableRows queries_, of_out_, of_queries_;
  const int64_t block_;
  const WritableRows weights_, scores_;
};

void backward(const HeadShape& shape, const HeadInputs& inputs, const HeadRows& out,
              const RowSoftmax* kept, const HeadRows& out_gradient, const HeadGradients& gradients,
              float* memory) {
  const int64_t length = shape.length, width = shape.width;
  Scratch scratch(memory);
  const auto keys_transposed = scratch.take(width, long_stride(shape));
  const auto values_transposed = scratch.take(width, long_stride(shape));
  const auto keys = scratch.take(length, padded(width));
  const auto of_keys = scratch.take(length, padded(width));
  const auto of_values = scratch.take(length, padded(width));
  const Rows key{inputs.key.data, inputs.key.stride};
  transpose(key, keys_transposed, length, width);
  transpose({inputs.value.data, inputs.value.stride}, values_transposed, length, width);
  pack(key, keys, length, width);
  const Shared shared{keys, keys_transposed, values_transposed, of_keys, of_values};
  HeadGradient gradient(shape, shared, scratch);
  for (int64_t head = 0; head < shape.num_queries; ++head, kept += length) {
    const int64_t at = head * width;
    gradient.run({inputs.query.data + at, inputs.query.stride}, {out.data + at, out.stride}, kept,
                 {out_gradient.data + at, out_gradient.stride},
                 {gradients.query.data + at, gradients.query.stride}, head == 0);
  }
  unpack(of_keys, gradients.key, length, width);
  unpack(of_values, gradients.value, length, width);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exprun {

HWY_EXPORT(scratch_forward);
HWY_EXPORT(scratch_backward);
HWY_EXPORT(forward);
HWY_EXPORT(backward);

int64_t HeadShape::forward_scratch() const {
  return HWY_DYNAMIC_DISPATCH(scratch_forward)(*this);
}

int64_t HeadShape::backward_scratch() const {
  return HWY_DYNAMIC_DISPATCH(scratch_backward)(*this);
}

void attention_heads(const HeadShape& shape, const HeadInputs& inputs, const WritableHeadRows& out,
                     RowSoftmax* softmax, float* scratch) {
  HWY_DYNAMIC_DISPATCH(forward)(shape, inputs, out, softmax, scratch);
}

void attention_heads_gradient(const HeadShape& shape, const HeadInputs& inputs, const HeadRows& out,
                              const RowSoftmax* softmax, const HeadRows& out_gradient,
                              const HeadGradients& gradients, float* scratch) {
  HWY_DYNAMIC_DISPATCH(backward)
  (shape, inputs, out, softmax, out_gradient, gradients, scratch);
}

}  // namespace exprun
#endif
