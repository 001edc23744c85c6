#include "kernels/linear.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include <functional>
#include <optional>
#include <string_view>

#include "kernels/linear_choice.h"

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

using Compute = std::function<at::Tensor(LinearBackend)>;

at::Tensor fastest(const LinearProduct& product, const at::Tensor& operand,
                   const Compute& compute) {
  const bool has_choice =
      operand.is_cpu() && operand.scalar_type() == at::kFloat && onednn_operator();
  if (!has_choice) return compute(LinearBackend::aten);
  return compute(choose_backend(product, [&](LinearBackend backend) { compute(backend); }));
}

// (..., in) as a matrix.
at::Tensor flat(const at::Tensor& x) {
  return x.dim() == 2 ? x : x.reshape({-1, x.size(-1)});
}

class LinearFunction : public torch::autograd::Function<LinearFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
    const auto matrix = flat(x);
    context->save_for_backward({matrix, weight});
    context->saved_data["bias"] = bias.has_value();
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    return linear_forward(matrix, weight, bias.value_or(at::Tensor())).view(shape);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const auto gradient = flat(gradients[0]).contiguous();
    at::Tensor of_x, of_weight, of_bias;
    if (context->needs_input_grad(0)) {
      auto shape = gradients[0].sizes().vec();
      shape.back() = saved[1].size(1);
      of_x = linear_input_gradient(gradient, saved[1]).view(shape);
    }
    if (context->needs_input_grad(1)) of_weight = linear_weight_gradient(gradient, saved[0]);
    if (context->saved_data["bias"].toBool() && context->needs_input_grad(2))
      of_bias = gradient.sum(0);
    return {of_x, of_weight, of_bias};
  }
};

}  // namespace

at::Tensor linear_forward(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  const LinearProduct product(LinearProduct::Kind::forward, x.size(0), weight.size(1),
                              weight.size(0));
  return fastest(product, x, [&](LinearBackend backend) {
    if (backend == LinearBackend::onednn) return onednn(x, weight, bias);
    return bias.defined() ? at::addmm(bias, x, weight.t()) : at::mm(x, weight.t());
  });
}

at::Tensor linear_input_gradient(const at::Tensor& gradient, const at::Tensor& weight) {
  const LinearProduct product(LinearProduct::Kind::input_gradient, gradient.size(0), weight.size(1),
                              weight.size(0));
  return fastest(product, gradient, [&](LinearBackend backend) {
    return backend == LinearBackend::onednn ? onednn(gradient, weight.t(), {})
                                            : at::mm(gradient, weight);
  });
}

at::Tensor linear_weight_gradient(const at::Tensor& gradient, const at::Tensor& x) {
  const LinearProduct product(LinearProduct::Kind::weight_gradient, x.size(0), x.size(1),
                              gradient.size(1));
  return fastest(product, gradient, [&](LinearBackend backend) {
    return backend == LinearBackend::onednn ? onednn(gradient.t(), x.t(), {})
                                            : at::mm(gradient.t(), x);
  });
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return LinearFunction::apply(x, weight, present(bias));
}

at::Tensor linear_reference(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::linear(x, weight, present(bias));
}

}  // namespace exprun
