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

// The ways to compute a product. Some processors have bf16 products that take twice as long as
// those of fp32: then the factors, widened, are multiplied in fp32, and the result is rounded once.
enum class Way { aten, onednn, fp32 };

// The fastest way for `rows` tokens.
Way fastest_way(const char* product, const at::Tensor& operand, int64_t rows, int64_t in,
                int64_t out, const std::function<void(Way)>& compute) {
  const autotune::Key key{product, {autotune::Key::rounded(rows), in, out}};
  if (!operand.is_cpu()) return Way::aten;
  if (operand.scalar_type() == at::kFloat && onednn_operator())
    return autotune::choose(key, {"aten", "onednn"},
                            [&](size_t index) { compute(index == 0 ? Way::aten : Way::onednn); }) ==
                   0
               ? Way::aten
               : Way::onednn;
  if (operand.scalar_type() == at::kBFloat16)
    return autotune::choose(key, {"aten", "fp32"},
                            [&](size_t index) { compute(index == 0 ? Way::aten : Way::fp32); }) == 0
               ? Way::aten
               : Way::fp32;
  return Way::aten;
}

at::Tensor fastest_product(const char* product, const at::Tensor& operand, int64_t rows, int64_t in,
                           int64_t out, const std::function<at::Tensor(Way)>& compute) {
  return compute(fastest_way(product, operand, rows, in, out, [&](Way way) { compute(way); }));
}

at::Tensor wide(const at::Tensor& tensor) {
  return tensor.to(at::kFloat);
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
  const auto by_aten = [](const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
    return c.defined() ? at::addmm(c, a, b.t()) : at::mm(a, b.t());
  };
  const bool is_wide = x.scalar_type() == at::kFloat;
  return fastest_product(is_wide ? "forward" : "forward_bf16", x, x.size(0), weight.size(1),
                         weight.size(0), [&](Way way) {
                           if (way == Way::onednn) return onednn(x, weight, bias);
                           if (way == Way::aten) return by_aten(x, weight, bias);
                           return by_aten(wide(x), wide(weight), bias.defined() ? wide(bias) : bias)
                               .to(x.scalar_type());
                         });
}

at::Tensor linear_input_gradient(const at::Tensor& gradient, const at::Tensor& weight) {
  const bool is_wide = gradient.scalar_type() == at::kFloat;
  return fastest_product(is_wide ? "input_gradient" : "input_gradient_bf16", gradient,
                         gradient.size(0), weight.size(1), weight.size(0), [&](Way way) {
                           if (way == Way::onednn) return onednn(gradient, weight.t(), {});
                           if (way == Way::aten) return at::mm(gradient, weight);
                           return at::mm(wide(gradient), wide(weight)).to(gradient.scalar_type());
                         });
}

at::Tensor linear_weight_gradient(const at::Tensor& gradient, const at::Tensor& x) {
  const bool is_wide = gradient.scalar_type() == at::kFloat;
  return fastest_product(is_wide ? "weight_gradient" : "weight_gradient_bf16", gradient, x.size(0),
                         x.size(1), gradient.size(1), [&](Way way) {
                           if (way == Way::onednn) return onednn(gradient.t(), x.t(), {});
                           if (way == Way::aten) return at::mm(gradient.t(), x);
                           return at::mm(wide(gradient).t(), wide(x)).to(gradient.scalar_type());
                         });
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return with_gradient({x, weight, bias}, [&] { return product(x, weight, bias); });
}

at::Tensor linear_reference(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::linear(x, weight, present(bias));
}

}  // namespace exprun
