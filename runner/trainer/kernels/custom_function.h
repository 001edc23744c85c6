// Functions of tensors whose gradients are written by hand. LibTorch's own way to do that takes
// longer to parse than all else that a kernel includes; here one source file has it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace exprun {

using Tensors = std::vector<at::Tensor>;

// What backward is given.
struct Backward {
  const at::Tensor& gradient;  // of the value
  Tensors kept;                // as forward kept them
  std::vector<bool> needed;    // whether the gradient of each input is asked for
};

// What forward gives. LibTorch frees the kept tensors with the graph, and refuses one that was
// changed since; a tensor belongs there, not into what `backward` captures. `backward` gives the
// gradient of each input, undefined where there is none.
struct Differentiable {
  at::Tensor value;
  Tensors kept;
  std::function<Tensors(const Backward&)> backward;
};

// The value of `forward`, which runs without recording, as a function of `inputs`. Undefined ones
// are inputs left out, and come last.
at::Tensor with_custom_gradient(Tensors inputs, const std::function<Differentiable()>& forward);

// A differentiable function of tensors.
using Function = std::function<at::Tensor(const Tensors&)>;

}  // namespace exprun
