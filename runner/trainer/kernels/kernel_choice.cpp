#include "kernels/kernel_choice.h"

#include <ATen/core/grad_mode.h>

#include "kernels/instruction_set.h"

namespace exprun {
namespace {

void forward_and_backward(const Function& function, const Tensors& inputs) {
  const at::AutoGradMode grad_mode(true);
  Tensors leaves;
  for (const auto& input : inputs)
    leaves.push_back(input.defined() ? input.detach().set_requires_grad(true) : input);
  const auto value = function(leaves);
  value.backward(value.detach());
}

}  // namespace

at::Tensor fastest(const autotune::Key& key, const Tensors& inputs, const Function& ours,
                   const Function& aten) {
  if (!has_our_kernels()) return aten(inputs);
  const auto& chosen = autotune::choose(key, kOursOrAten,
                                        [&](size_t index) {
                                          forward_and_backward(index == 0 ? ours : aten, inputs);
                                        }) == 0
                           ? ours
                           : aten;
  return chosen(inputs);
}

}  // namespace exprun
