#include "kernels/rms_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_fused_rms_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "kernels/custom_function.h"
#include "kernels/kernel_choice.h"

#ifndef EXPRUN_KERNELS_RMS_NORM_TYPES
#define EXPRUN_KERNELS_RMS_NORM_TYPES
namespace exprun {
namespace {

struct RowScale {
  const float* weight;  // (width), or null for 1
  float offset;         // added to the weight
};

}  // namespace
}  // namespace exprun
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rms_norm.cpp"
#include "hwy/foreach_target.h"
//
#include "kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace exprun {
namespace HWY_NAMESPACE {
namespace {

HWY_INLINE Floats scale_at(RowScale scale, int64_t i, int64_t count) {
  if (!scale.weight) return hn::Set(kFloats, 1.0f);
  return hn::Add(load_some(scale.weight + i, count), hn::Set(kFloats, scale.offset));
}

// Rows are contiguous, `width` wide.
void rms_norm_rows(const float* x, RowScale scale, float eps, int64_t rows, int64_t width,
                   float* out, float* inverse_rms) {
  for (int64_t row = 0; row < rows; ++row, x += width, out += width) {
    Floats squares = hn::Zero(kFloats);
    for_each_vector(width, [&](int64_t i, int64_t count) HWY_ATTR {
      const Floats value = load_some(x + i, count);
      squares = hn::MulAdd(value, value, squares);
    });
    const float inverse = 1 / std::sqrt(sum(squares) / static_cast<float>(width) + eps);
    inverse_rms[row] = inverse;
    for_each_vector(width, [&](int64_t i, int64_t count) HWY_ATTR {
      const Floats normal = hn::Mul(load_some(x + i, count), hn::Set(kFloats, inverse));
      store_some(out + i, hn::Mul(normal, scale_at(scale, i, count)), count);
    });
  }
}

// With n the normalised row and h = of_out * scale: dx = (h - n mean(h n)) / rms. What is due to
// the weight is added to `of_weight`, unless that is null.
void rms_norm_rows_gradient(const float* x, RowScale scale, const float* inverse_rms,
                            const float* of_out, int64_t rows, int64_t width, float* of_x,
                            float* of_weight) {
  for (int64_t row = 0; row < rows; ++row, x += width, of_out += width, of_x += width) {
    const Floats inverse = hn::Set(kFloats, inverse_rms[row]);
    Floats along = hn::Zero(kFloats);
    for_each_vector(width, [&](int64_t i, int64_t count) HWY_ATTR {
      const Floats normal = hn::Mul(load_some(x + i, count), inverse);
      const Floats given = load_some(of_out + i, count);
      along = hn::MulAdd(hn::Mul(given, scale_at(scale, i, count)), normal, along);
      if (of_weight)
        store_some(of_weight + i, hn::MulAdd(given, normal, load_some(of_weight + i, count)),
                   count);
    });
    const Floats slope = hn::Set(kFloats, sum(along) / static_cast<float>(width));
    for_each_vector(width, [&](int64_t i, int64_t count) HWY_ATTR {
      const Floats normal = hn::Mul(load_some(x + i, count), inverse);
      const Floats scaled = hn::Mul(load_some(of_out + i, count), scale_at(scale, i, count));
      store_some(of_x + i, hn::Mul(hn::NegMulAdd(normal, slope, scaled), inverse), count);
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

HWY_EXPORT(rms_norm_rows);
HWY_EXPORT(rms_norm_rows_gradient);

// Rows whose part in the gradient of the weight is summed first. It does not depend on the number
// of threads, so neither does the sum.
constexpr int64_t kBlock = 64;

RowScale row_scale(const at::Tensor& weight, double offset) {
  return {weight.defined() ? weight.const_data_ptr<float>() : nullptr, static_cast<float>(offset)};
}

Tensors gradients(const Backward& backward, double offset) {
  const auto &x = backward.kept[0], &inverse = backward.kept[1], &weight = backward.kept[2];
  const auto given = backward.gradient.contiguous();
  const int64_t width = x.size(-1), rows = x.numel() / width;
  const int64_t blocks = (rows + kBlock - 1) / kBlock;
  auto of_x = at::empty_like(x);
  auto of_weight = weight.defined() ? at::zeros({blocks, width}, given.options()) : at::Tensor();
  const RowScale scale = row_scale(weight, offset);
  const auto* from = x.const_data_ptr<float>();
  const auto* kept = inverse.const_data_ptr<float>();
  const auto* of_out = given.const_data_ptr<float>();
  auto* to_x = of_x.mutable_data_ptr<float>();
  auto* to_weight = weight.defined() ? of_weight.mutable_data_ptr<float>() : nullptr;
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t row = block * kBlock, at = row * width;
      HWY_DYNAMIC_DISPATCH(rms_norm_rows_gradient)
      (from + at, scale, kept + row, of_out + at, std::min(kBlock, rows - row), width, to_x + at,
       to_weight ? to_weight + block * width : nullptr);
    }
  });
  return {of_x, weight.defined() ? of_weight.sum(0) : at::Tensor()};
}

Differentiable normalised(const at::Tensor& input, const at::Tensor& weight, double offset,
                          double eps) {
  const auto x = input.contiguous();
  const int64_t width = x.size(-1), rows = x.numel() / width;
  auto out = at::empty_like(x), inverse = at::empty({rows}, x.options());
  const RowScale scale = row_scale(weight, offset);
  const auto* from = x.const_data_ptr<float>();
  auto* to = out.mutable_data_ptr<float>();
  auto* kept = inverse.mutable_data_ptr<float>();
  at::parallel_for(0, rows, kBlock, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(rms_norm_rows)
    (from + begin * width, scale, static_cast<float>(eps), end - begin, width, to + begin * width,
     kept + begin);
  });
  return {out, {x, inverse, weight}, [offset](const Backward& backward) {
            return gradients(backward, offset);
          }};
}

}  // namespace

at::Tensor rms_norm_aten(const at::Tensor& x, const at::Tensor& weight, double offset, double eps) {
  const auto wide = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  const auto normal = wide.mul(wide.square().mean(-1, /*keepdim=*/true).add(eps).rsqrt());
  return (weight.defined() ? normal.mul(weight.add(offset)) : normal).to(x.scalar_type());
}

at::Tensor rms_norm_fused(const at::Tensor& x, const at::Tensor& weight, double offset,
                          double eps) {
  std::optional<at::Tensor> scale;
  if (weight.defined()) scale = offset == 0 ? weight : weight.add(offset);
  const bool differ = scale && scale->scalar_type() != x.scalar_type();
  if (differ) scale = scale->to(at::kFloat);
  const auto wide = differ ? x.to(at::kFloat) : x;
  return std::get<0>(at::_fused_rms_norm(wide, {x.size(-1)}, scale, eps)).to(x.scalar_type());
}

at::Tensor rms_norm_ours(const at::Tensor& x, const at::Tensor& weight, double offset, double eps) {
  return with_custom_gradient({x, weight}, [&] { return normalised(x, weight, offset, eps); });
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double offset, double eps) {
  if (x.is_cuda()) return rms_norm_fused(x, weight, offset, eps);
  if (!x.is_cpu() || x.scalar_type() != at::kFloat) return rms_norm_aten(x, weight, offset, eps);
  const auto scale = weight.defined() ? weight.to(at::kFloat) : weight;
  return fastest(
      {weight.defined() ? "rms_norm" : "rms_norm_bare",
       {autotune::Key::rounded(x.numel() / x.size(-1)), x.size(-1)}},
      {x, scale}, [&](const Tensors& in) { return rms_norm_ours(in[0], in[1], offset, eps); },
      [&](const Tensors& in) { return rms_norm_fused(in[0], in[1], offset, eps); });
}

}  // namespace exprun
#endif
