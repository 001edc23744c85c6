// An affine map of the last dimension.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "engine/parameter.h"
#include "layers/initial_weights.h"

namespace exprun {

struct Linear {
  at::Tensor weight;  // (out, in)
  at::Tensor bias;    // (out), or undefined
  at::ScalarType compute = at::kFloat;

  struct Shape {
    int64_t in;
    int64_t out;
    bool bias;
  };

  // Declares "<name>.weight" and, if it has one, "<name>.bias".
  static Linear declare(ParameterList& parameters, const std::string& name, Shape shape,
                        const InitialWeights& weights);

  // (..., in) -> (..., out); x and the weights are cast to `compute`.
  at::Tensor operator()(const at::Tensor& x) const;
};

}  // namespace exprun
