#include "kernels/linear.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

#include <functional>
#include <optional>
#include <string_view>

#include "engine/device/autotune.h"
#include "kernels/hand_gradient.h"

namespace exprun {
namespace {

using Attributes = c10::List<std::optional<at::Scalar>>;
using OneDnnLinear = at::Tensor(const at::Tensor&, const at::Tensor&,
                                const std::optional<at::Tensor>&, std::string_view, Attributes,
                                std::optional<std::string_view>);

// oneDNN's product of plain dense fp32 matrices. It is reachable as an operator only, which other
// builds of LibTorch may lack.
const auto& onednn_operator() {
  static const auto found = []() -> std::optional<c10::TypedOperatorHandle<OneDnnLinear>> {
    const auto schema = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    if (!schema) return std::nullopt;
    return schema->typed<OneDnnLinear>();
  }();
  return found;
}

std::optional<at::Tensor> present(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

at::Tensor onednn(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  static const Attributes none;
  return onednn_operator()->call(x, weight, present(bias), "none", none, "");
}

// Whether oneDNN's product is the faster of both for `rows` tokens.
bool onednn_is_faster(const char* product, const at::Tensor& operand, int64_t rows, int64_t in,
                      int64_t out, const std::function<at::Tensor(bool)>& compute) {
  const bool has_choice =
      operand.is_cpu() && operand.scalar_type() == at::kFloat && onednn_operator();
  if (!has_choice) return false;
  return autotune::choose({product, {autotune::Key::rounded(rows), in, out}}, {"aten", "onednn"},
                          [&](size_t index) { compute(index == 1); }) == 1;
}

at::Tensor fastest_product(const char* product, const at::Tensor& operand, int64_t rows, int64_t in,
                           int64_t out, const std::function<at::Tensor(bool)>& compute) {
  return compute(onednn_is_faster(product, operand, rows, in, out, compute));
}

// (..., in) as a matrix.
at::Tensor flat(const at::Tensor& x) {
  return x.dim() == 2 ? x : x.reshape({-1, x.size(-1)});
}

Tensors gradients(const Backward& given) {
  const auto &x = given.kept[0], &weight = given.kept[1];
  const auto gradient = flat(given.gradient).contiguous();
  Tensors result(3);
  if (given.needed[0]) {
    auto shape = given.gradient.sizes().vec();
    shape.back() = weight.size(1);
    result[0] = linear_input_gradient(gradient, weight).view(shape);
  }
  if (given.needed[1]) result[1] = linear_weight_gradient(gradient, x);
  if (given.needed.size() == 3 && given.needed[2]) result[2] = gradient.sum(0);
  return result;
}

Differentiable product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const auto matrix = flat(x);
  auto shape = x.sizes().vec();
  shape.back() = weight.size(0);
  return {linear_forward(matrix, weight, bias).view(shape), {matrix, weight}, gradients};
}

}  // namespace

at::Tensor linear_forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return fastest_product(
      "forward", x, x.size(0), weight.size(1), weight.size(0), [&](bool by_onednn) {
        if (by_onednn) return onednn(x, weight, bias);
        return bias.defined() ? at::addmm(bias, x, weight.t()) : at::mm(x, weight.t());
      });
}

at::Tensor linear_input_gradient(const at::Tensor& gradient, const at::Tensor& weight) {
  return fastest_product("input_gradient", gradient, gradient.size(0), weight.size(1),
                         weight.size(0), [&](bool by_onednn) {
                           return by_onednn ? onednn(gradient, weight.t(), {})
                                            : at::mm(gradient, weight);
                         });
}

at::Tensor linear_weight_gradient(const at::Tensor& gradient, const at::Tensor& x) {
  return fastest_product(
      "weight_gradient", gradient, x.size(0), x.size(1), gradient.size(1), [&](bool by_onednn) {
        return by_onednn ? onednn(gradient.t(), x.t(), {}) : at::mm(gradient.t(), x);
      });
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return with_gradient({x, weight, bias}, [&] { return product(x, weight, bias); });
}

at::Tensor linear_reference(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::linear(x, weight, present(bias));
}

}  // namespace exprun
