#include "kernels/layer_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <optional>

#include "kernels/hand_gradient.h"
#include "kernels/layer_norm_rows.h"

namespace exprun {
namespace {

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
      layer_norm_rows_gradient(
          from + at, scale, kept + row, of_out + at, std::min(kBlock, rows - row), width,
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
    layer_norm_rows(from + begin * width, scale, shift, static_cast<float>(eps), end - begin, width,
                    to + begin * width, kept + begin);
  });
  return {out, {x, weight, statistics}, gradients};
}

std::optional<at::Tensor> present(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

}  // namespace

at::Tensor layer_norm_reference(const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& bias, double eps) {
  return at::layer_norm(x, weight.sizes(), weight, present(bias), eps);
}

// A GPU's kernel takes one format for all; a CPU's computes in fp32 whatever it is given.
at::Tensor layer_norm_wide(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           double eps) {
  return layer_norm_reference(x.to(at::kFloat), weight.to(at::kFloat),
                              bias.defined() ? bias.to(at::kFloat) : bias, eps)
      .to(x.scalar_type());
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps) {
  if (x.scalar_type() != at::kFloat)
    return x.is_cpu() ? layer_norm_reference(x, weight, bias, eps)
                      : layer_norm_wide(x, weight, bias, eps);
  const auto scale = weight.to(at::kFloat);
  const auto shift = bias.defined() ? bias.to(at::kFloat) : bias;
  if (!x.is_cpu()) return layer_norm_reference(x, scale, shift, eps);
  return with_gradient({x, scale, shift}, [&] { return normalised(x, scale, shift, eps); });
}

}  // namespace exprun
