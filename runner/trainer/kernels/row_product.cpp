#include "kernels/row_product.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_product.cpp"
#include "hwy/foreach_target.h"
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {
namespace {

// Of four rows of the weight at a time: so many streams keep the memory busy.
void four_dot_products(const float* x, const float* weight, int64_t in, float* out) {
  const float* const rows[] = {weight, weight + in, weight + 2 * in, weight + 3 * in};
  Floats a = hn::Zero(kFloats), b = a, c = a, d = a;
  for_each_vector(in, [&](int64_t i, int64_t count) HWY_ATTR {
    const Floats v = load_some(x + i, count);
    a = hn::MulAdd(v, load_some(rows[0] + i, count), a);
    b = hn::MulAdd(v, load_some(rows[1] + i, count), b);
    c = hn::MulAdd(v, load_some(rows[2] + i, count), c);
    d = hn::MulAdd(v, load_some(rows[3] + i, count), d);
  });
  out[0] = sum(a);
  out[1] = sum(b);
  out[2] = sum(c);
  out[3] = sum(d);
}

float dot_product(const float* x, const float* row, int64_t in) {
  Floats a = hn::Zero(kFloats);
  for_each_vector(in, [&](int64_t i, int64_t count) HWY_ATTR {
    a = hn::MulAdd(load_some(x + i, count), load_some(row + i, count), a);
  });
  return sum(a);
}

void dot_products(const float* x, const float* weight, int64_t in, int64_t rows, float* out) {
  int64_t row = 0;
  for (; row + 4 <= rows; row += 4) four_dot_products(x, weight + row * in, in, out + row);
  for (; row < rows; ++row) out[row] = dot_product(x, weight + row * in, in);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exprun {
namespace {

HWY_EXPORT(dot_products);

constexpr int64_t kGrain = 32768;  // weights: fewer are not worth another thread

}  // namespace

at::Tensor row_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const int64_t out = weight.size(0), in = weight.size(1);
  auto result = at::empty({1, out}, x.options());
  const auto *row = x.const_data_ptr<float>(), *weights = weight.const_data_ptr<float>();
  const auto* biases = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  auto* to = result.mutable_data_ptr<float>();
  at::parallel_for(0, out, std::max<int64_t>(kGrain / in, 1), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(dot_products)(row, weights + begin * in, in, end - begin, to + begin);
    if (biases)
      for (int64_t i = begin; i < end; ++i) to[i] += biases[i];
  });
  return result;
}

}  // namespace exprun
#endif
