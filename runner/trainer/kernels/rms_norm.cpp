#include "kernels/rms_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/_fused_rms_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "kernels/hand_gradient.h"
#include "kernels/rms_norm_rows.h"

namespace exprun {
namespace {

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
      rms_norm_rows_gradient(from + at, scale, kept + row, of_out + at,
                             std::min(kBlock, rows - row), width, to_x + at,
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
    rms_norm_rows(from + begin * width, scale, static_cast<float>(eps), end - begin, width,
                  to + begin * width, kept + begin);
  });
  return {out, {x, inverse, weight}, [offset](const Backward& backward) {
            return gradients(backward, offset);
          }};
}

}  // namespace

at::Tensor rms_norm_reference(const at::Tensor& x, const at::Tensor& weight, double offset,
                              double eps) {
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

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double offset, double eps) {
  if (x.is_cuda()) return rms_norm_fused(x, weight, offset, eps);
  if (!x.is_cpu() || x.scalar_type() != at::kFloat)
    return rms_norm_reference(x, weight, offset, eps);
  const auto scale = weight.defined() ? weight.to(at::kFloat) : weight;
  return with_gradient({x, scale}, [&] { return normalised(x, scale, offset, eps); });
}

}  // namespace exprun
