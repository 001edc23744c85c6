#include "kernels/rms_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "kernels/rms_norm_rows.h"

namespace exprun {
namespace {

// Rows whose part in the gradient of the weight is summed first. It does not depend on the number
// of threads, so neither does the sum.
constexpr int64_t kBlock = 64;

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class RmsNorm : public torch::autograd::Function<RmsNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const std::optional<at::Tensor>& weight, double offset, double eps) {
    const auto x = input.contiguous();
    const int64_t width = x.size(-1), rows = x.numel() / width;
    auto out = at::empty_like(x), inverse = at::empty({rows}, x.options());
    const RowScale scale{weight ? weight->const_data_ptr<float>() : nullptr,
                         static_cast<float>(offset)};
    const auto* from = x.const_data_ptr<float>();
    auto* to = out.mutable_data_ptr<float>();
    auto* kept = inverse.mutable_data_ptr<float>();
    at::parallel_for(0, rows, kBlock, [&](int64_t begin, int64_t end) {
      rms_norm_rows(from + begin * width, scale, static_cast<float>(eps), end - begin, width,
                    to + begin * width, kept + begin);
    });
    context->save_for_backward({x, inverse, weight.value_or(at::Tensor())});
    context->saved_data["offset"] = offset;
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto given = gradients[0].contiguous();
    const bool has_weight = saved[2].defined();
    const int64_t width = saved[0].size(-1), rows = saved[0].numel() / width;
    const int64_t blocks = (rows + kBlock - 1) / kBlock;
    auto of_x = at::empty_like(saved[0]);
    auto of_weight = has_weight ? at::zeros({blocks, width}, given.options()) : at::Tensor();
    const RowScale scale{has_weight ? saved[2].const_data_ptr<float>() : nullptr,
                         static_cast<float>(context->saved_data["offset"].toDouble())};
    const auto* x = saved[0].const_data_ptr<float>();
    const auto* inverse = saved[1].const_data_ptr<float>();
    const auto* of_out = given.const_data_ptr<float>();
    auto* to_x = of_x.mutable_data_ptr<float>();
    auto* to_weight = has_weight ? of_weight.mutable_data_ptr<float>() : nullptr;
    at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t row = block * kBlock, at = row * width;
        rms_norm_rows_gradient(x + at, scale, inverse + row, of_out + at,
                               std::min(kBlock, rows - row), width, to_x + at,
                               to_weight ? to_weight + block * width : nullptr);
      }
    });
    return {of_x, has_weight ? of_weight.sum(0) : at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm_reference(const at::Tensor& x, const at::Tensor& weight, double offset,
                              double eps) {
  const auto wide = x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
  const auto normal = wide.mul(wide.square().mean(-1, /*keepdim=*/true).add(eps).rsqrt());
  return (weight.defined() ? normal.mul(weight.add(offset)) : normal).to(x.scalar_type());
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double offset, double eps) {
  if (!x.is_cpu() || x.scalar_type() != at::kFloat)
    return rms_norm_reference(x, weight, offset, eps);
  const auto scale =
      weight.defined() ? std::optional<at::Tensor>(weight.to(at::kFloat)) : std::nullopt;
  return RmsNorm::apply(x, scale, offset, eps);
}

}  // namespace exprun
