#include "kernels/layer_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/custom_function.h"
#include "kernels/kernel_choice.h"

#ifndef EXPRUN_KERNELS_LAYER_NORM_TYPES
#define EXPRUN_KERNELS_LAYER_NORM_TYPES
namespace exprun {
namespace {

struct RowStatistics {
  float mean;
  float inverse_deviation;
};

struct RowGradients {
  float* x;       // rows x width
  float* weight;  // (width), added to
  float* bias;    // (width), added to; or null
};

}  // namespace
}  // namespace exprun
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm.cpp"
#include "hwy/foreach_target.h"
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE Floats spread(float value) {
  return hn::Set(kFloats, value);
}

// The variance from differences to the mean: exact where the mean is large.
HWY_INLINE RowStatistics statistics_of(const float* x, int64_t width, float eps) {
  Floats total = hn::Zero(kFloats);
  for_each_vector(width, [&](int64_t i, int64_t count)
                             HWY_ATTR { total = hn::Add(total, load_some(x + i, count)); });
  const float mean = sum(total) / static_cast<float>(width);
  Floats squares = hn::Zero(kFloats);
  for_each_vector(width, [&](int64_t i, int64_t count) HWY_ATTR {
    Floats difference = hn::Sub(load_some(x + i, count), spread(mean));
    if (count < kLanes) difference = hn::IfThenElseZero(first_lanes(count), difference);
    squares = hn::MulAdd(difference, difference, squares);
  });
  const float variance = sum(squares) / static_cast<float>(width);
  return {mean, 1 / std::sqrt(variance + eps)};
}

// `bias` may be null. Rows are contiguous, `width` wide.
void layer_norm_rows(const float* x, const float* weight, const float* bias, float eps,
                     int64_t rows, int64_t width, float* out, RowStatistics* statistics) {
  for (int64_t row = 0; row < rows; ++row, x += width, out += width) {
    const auto found = statistics_of(x, width, eps);
    statistics[row] = found;
    for_each_vector(width, [&](int64_t i, int64_t count) HWY_ATTR {
      const Floats normal = hn::Mul(hn::Sub(load_some(x + i, count), spread(found.mean)),
                                    spread(found.inverse_deviation));
      const Floats shift = bias ? load_some(bias + i, count) : hn::Zero(kFloats);
      store_some(out + i, hn::MulAdd(normal, load_some(weight + i, count), shift), count);
    });
  }
}

// With n the normalised row and h = of_out * weight: dx = (h - mean(h) - n mean(h n)) / deviation.
void layer_norm_rows_gradient(const float* x, const float* weight, const RowStatistics* statistics,
                              const float* of_out, int64_t rows, int64_t width,
                              const RowGradients& gradients) {
  float* of_x = gradients.x;
  for (int64_t row = 0; row < rows; ++row, x += width, of_out += width, of_x += width) {
    const Floats mean = spread(statistics[row].mean);
    const Floats inverse_deviation = spread(statistics[row].inverse_deviation);
    Floats total = hn::Zero(kFloats), along = hn::Zero(kFloats);
    for_each_vector(width, [&](int64_t i, int64_t count) HWY_ATTR {
      const Floats normal = hn::Mul(hn::Sub(load_some(x + i, count), mean), inverse_deviation);
      const Floats given = load_some(of_out + i, count);
      const Floats scaled = hn::Mul(given, load_some(weight + i, count));
      total = hn::Add(total, scaled);
      along = hn::MulAdd(scaled, normal, along);
      float* of_weight = gradients.weight + i;
      store_some(of_weight, hn::MulAdd(given, normal, load_some(of_weight, count)), count);
      if (!gradients.bias) return;
      float* of_bias = gradients.bias + i;
      store_some(of_bias, hn::Add(load_some(of_bias, count), given), count);
    });
    const Floats shift = spread(sum(total) / static_cast<float>(width));
    const Floats slope = spread(sum(along) / static_cast<float>(width));
    for_each_vector(width, [&](int64_t i, int64_t count) HWY_ATTR {
      const Floats normal = hn::Mul(hn::Sub(load_some(x + i, count), mean), inverse_deviation);
      const Floats scaled = hn::Mul(load_some(of_out + i, count), load_some(weight + i, count));
      const Floats centered = hn::NegMulAdd(normal, slope, hn::Sub(scaled, shift));
      store_some(of_x + i, hn::Mul(centered, inverse_deviation), count);
    });
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace exprun
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace exprun {
namespace {

HWY_EXPORT(layer_norm_rows);
HWY_EXPORT(layer_norm_rows_gradient);

// Rows whose part in the gradients of weight and bias is summed first. It does not depend on the
// number of threads, so neither do the sums.
constexpr int64_t kBlock = 64;

Tensors gradients(const Backward& backward) {
  const auto &x = backward.kept[0], &weight = backward.kept[1], &statistics = backward.kept[2];
  const auto given = backward.gradient.contiguous();
  const bool has_bias = backward.needed.size() == 3;
  const int64_t width = weight.size(0), rows = x.numel() / width;
  const int64_t blocks = (rows + kBlock - 1) / kBlock;
  auto of_x = at::empty_like(x);
  auto of_weight = at::zeros({blocks, width}, given.options());
  auto of_bias = has_bias ? at::zeros({blocks, width}, given.options()) : at::Tensor();
  const auto* from = x.const_data_ptr<float>();
  const auto* scale = weight.const_data_ptr<float>();
  const auto* kept = reinterpret_cast<const RowStatistics*>(statistics.const_data_ptr<float>());
  const auto* of_out = given.const_data_ptr<float>();
  auto* to_x = of_x.mutable_data_ptr<float>();
  auto* to_weight = of_weight.mutable_data_ptr<float>();
  auto* to_bias = has_bias ? of_bias.mutable_data_ptr<float>() : nullptr;
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t row = block * kBlock, at = row * width;
      HWY_DYNAMIC_DISPATCH(layer_norm_rows_gradient)
      (from + at, scale, kept + row, of_out + at, std::min(kBlock, rows - row), width,
       {to_x + at, to_weight + block * width, to_bias ? to_bias + block * width : nullptr});
    }
  });
  return {of_x, of_weight.sum(0), has_bias ? of_bias.sum(0) : at::Tensor()};
}

Differentiable normalised(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                          double eps) {
  const auto x = input.contiguous();
  const int64_t width = weight.size(0), rows = x.numel() / width;
  auto out = at::empty_like(x), statistics = at::empty({rows, 2}, x.options());
  const auto* from = x.const_data_ptr<float>();
  const auto* scale = weight.const_data_ptr<float>();
  const auto* shift = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  auto* to = out.mutable_data_ptr<float>();
  auto* kept = reinterpret_cast<RowStatistics*>(statistics.mutable_data_ptr<float>());
  at::parallel_for(0, rows, kBlock, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(layer_norm_rows)
    (from + begin * width, scale, shift, static_cast<float>(eps), end - begin, width,
     to + begin * width, kept + begin);
  });
  return {out, {x, weight, statistics}, gradients};
}

std::optional<at::Tensor> present(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

}  // namespace

at::Tensor layer_norm_aten(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           double eps) {
  return at::layer_norm(x, weight.sizes(), weight, present(bias), eps);
}

// A GPU's kernel takes one format for all; a CPU's computes in fp32 whatever it is given.
at::Tensor layer_norm_wide(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           double eps) {
  return layer_norm_aten(x.to(at::kFloat), weight.to(at::kFloat),
                         bias.defined() ? bias.to(at::kFloat) : bias, eps)
      .to(x.scalar_type());
}

at::Tensor layer_norm_ours(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           double eps) {
  return with_custom_gradient({x, weight, bias}, [&] { return normalised(x, weight, bias, eps); });
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps) {
  if (x.scalar_type() != at::kFloat)
    return x.is_cpu() ? layer_norm_aten(x, weight, bias, eps)
                      : layer_norm_wide(x, weight, bias, eps);
  const auto scale = weight.to(at::kFloat);
  const auto shift = bias.defined() ? bias.to(at::kFloat) : bias;
  if (!x.is_cpu()) return layer_norm_aten(x, scale, shift, eps);
  return fastest(
      {"layer_norm", {autotune::Key::rounded(x.numel() / x.size(-1)), x.size(-1)}},
      {x, scale, shift},
      [&](const Tensors& in) { return layer_norm_ours(in[0], in[1], in[2], eps); },
      [&](const Tensors& in) { return layer_norm_aten(in[0], in[1], in[2], eps); });
}

}  // namespace exprun
#endif
