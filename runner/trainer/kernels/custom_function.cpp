#include "kernels/custom_function.h"

#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace exprun {
namespace {

using Forward = std::function<Differentiable()>;
using torch::autograd::AutogradContext;

constexpr auto kBackward = "backward";

// Lets a graph own what backward calls.
struct Owned : torch::CustomClassHolder {
  Owned(decltype(Differentiable::backward) backward, size_t num_inputs)
      : backward(std::move(backward)), num_inputs(num_inputs) {}

  const decltype(Differentiable::backward) backward;
  const size_t num_inputs;
};

class CustomFunction : public torch::autograd::Function<CustomFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, at::TensorList inputs,
                            const Forward& forward) {
    auto result = forward();
    context->save_for_backward(std::move(result.kept));
    context->saved_data[kBackward] = at::IValue::make_capsule(
        c10::make_intrusive<Owned>(std::move(result.backward), inputs.size()));
    return result.value;
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const auto capsule = context->saved_data[kBackward].toCapsule();
    const auto& owned = static_cast<const Owned&>(*capsule);
    std::vector<bool> needed(owned.num_inputs);
    for (size_t i = 0; i < needed.size(); ++i) needed[i] = context->needs_input_grad(i);
    auto result = owned.backward({gradients[0], context->get_saved_variables(), needed});
    result.emplace_back();  // of `forward`
    return result;
  }
};

}  // namespace

at::Tensor with_custom_gradient(Tensors inputs, const Forward& forward) {
  std::erase_if(inputs, [](const at::Tensor& input) { return !input.defined(); });
  return CustomFunction::apply(at::TensorList(inputs), forward);
}

}  // namespace exprun
