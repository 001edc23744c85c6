// An affine map of the last dimension.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "engine/parameter.h"
#include "kernels/custom_function.h"
#include "layers/initial_weights.h"

namespace exprun {

struct Linear {
  at::Tensor weight;  // (out, in)
  at::Tensor bias;    // (out), or undefined
  // [precision] compute. How a CPU multiplies in bf16: kernels/linear.cpp.
  at::ScalarType compute = at::kFloat;

  // Of a layer with an adapter (engine/lora.h).
  at::Tensor lora_a;  // (rank, in), or undefined
  at::Tensor lora_b;  // (out, rank)
  double lora_scale = 0;
  double lora_dropout = 0;

  struct Shape {
    int64_t in;
    int64_t out;
    bool bias;
  };

  // Declares "<name>.weight" and, if it has one, "<name>.bias"; the adapter of a layer that is to
  // have one.
  static Linear declare(ParameterList& parameters, const std::string& name, Shape shape,
                        const InitialWeights& weights);

  // (..., in) -> (..., out); x and the weights are cast to `compute`. Of an adapter's input some is
  // dropped in training.
  at::Tensor operator()(const at::Tensor& x, bool training = false) const;

  // The same of value(inputs), of which backward computes the value again where that saves memory:
  // a cheap one that draws no random numbers.
  at::Tensor operator()(const Tensors& inputs, const Function& value, bool training) const;
};

}  // namespace exprun
