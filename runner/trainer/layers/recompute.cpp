#include "layers/recompute.h"

#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/precision/precision.h"
#include "kernels/linear.h"

namespace exprun {
namespace {

at::Generator generator_of(const at::Tensor& x) {
  return at::globalContext().defaultGenerator(x.device());
}

at::Tensor state_of(at::Generator generator) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

// Draws as from a state that was, and then goes on as if it had not.
class Replayed {
 public:
  Replayed(at::Generator generator, const at::Tensor& state)
      : generator_(std::move(generator)), now_(state_of(generator_)) {
    set(state);
  }
  ~Replayed() { set(now_); }
  Replayed(const Replayed&) = delete;
  Replayed& operator=(const Replayed&) = delete;

 private:
  void set(const at::Tensor& state) {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    generator_.set_state(state);
  }

  at::Generator generator_;
  at::Tensor now_;
};

// Of those inputs whose gradient is needed, in their places.
Tensors gradients(const at::Tensor& value, const at::Tensor& of_value, const Tensors& inputs,
                  const std::vector<bool>& needed) {
  Tensors wanted;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (needed[i]) wanted.push_back(inputs[i]);
  // A weight whose gradient was added where it lies has none here.
  const auto found = torch::autograd::grad({value}, wanted, {of_value}, std::nullopt, false, true);
  Tensors result(inputs.size());
  auto next = found.begin();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (needed[i]) result[i] = *next++;
  return result;
}

}  // namespace

// Parameters are inputs, so that their gradients go the way of all others: what waits for them
// cannot tell how they were made.
at::Tensor recomputed(const at::Tensor& x, const Tensors& parameters,
                      const std::function<at::Tensor(const at::Tensor&)>& part) {
  Tensors inputs{x};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  return with_custom_gradient(inputs, [&]() -> Differentiable {
    const at::Tensor state = state_of(generator_of(x));
    return {part(x), {x}, [state, parameters, part](const Backward& given) {
              const at::AutoGradMode recording(true);
              const at::Tensor& kept = given.kept[0];
              const Replayed replayed(generator_of(kept), state);
              Tensors inputs{kept.detach().set_requires_grad(given.needed[0])};
              inputs.insert(inputs.end(), parameters.begin(), parameters.end());
              return gradients(part(inputs[0]), given.gradient, inputs, given.needed);
            }};
  });
}

namespace {

// Kept are the inputs of `value`, the weight as it is multiplied, and the weight.
Tensors gradients_of_linear(const Function& value, const Backward& given) {
  const size_t count = given.kept.size() - 2;
  const std::vector<bool> needed(given.needed.begin(),
                                 given.needed.begin() + static_cast<std::ptrdiff_t>(count));
  const bool reaches_inputs = std::find(needed.begin(), needed.end(), true) != needed.end();
  Tensors inputs;
  for (size_t i = 0; i < count; ++i)
    inputs.push_back(given.kept[i].detach().set_requires_grad(needed[i]));
  at::Tensor again;
  {
    const at::AutoGradMode recording(true);
    again = value(inputs);
  }
  std::vector<bool> of_linear{reaches_inputs};
  of_linear.insert(of_linear.end(), given.needed.begin() + static_cast<std::ptrdiff_t>(count),
                   given.needed.end());
  const auto matrix = again.detach().reshape({-1, again.size(-1)});
  auto behind = linear_gradients(
      {given.gradient, {matrix, given.kept[count], given.kept[count + 1]}, of_linear});
  Tensors result(count);
  if (reaches_inputs) result = gradients(again, behind[0], inputs, needed);
  result.insert(result.end(), behind.begin() + 1, behind.end());
  result.resize(given.needed.size());
  return result;
}

}  // namespace

at::Tensor linear_of_recomputed(const Tensors& inputs, const Function& value,
                                const at::Tensor& weight, const at::Tensor& bias) {
  Tensors all = inputs;
  all.insert(all.end(), {weight, bias});
  return with_custom_gradient(all, [&]() -> Differentiable {
    const auto x = value(inputs);
    auto shape = x.sizes().vec();
    shape.back() = weight.size(0);
    const auto factor = cast_weight(weight, x.scalar_type());
    Tensors kept = inputs;
    kept.insert(kept.end(), {factor, weight});
    return {linear_forward(x.reshape({-1, x.size(-1)}), factor, bias).view(shape), std::move(kept),
            [value](const Backward& given) { return gradients_of_linear(value, given); }};
  });
}

}  // namespace exprun
