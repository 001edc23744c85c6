// An affine map of the last dimension.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "engine/parameter.h"

namespace exprun {

struct Linear {
  at::Tensor weight;  // (out, in)
  at::Tensor bias;    // (out), or undefined

  struct Shape {
    int64_t in;
    int64_t out;
    bool bias;
  };

  // Declares "<name>.weight", normal with `std`, and "<name>.bias", zero.
  static Linear declare(ParameterList& parameters, const std::string& name, Shape shape,
                        double std);

  at::Tensor operator()(const at::Tensor& x) const;  // (..., in) -> (..., out)
};

}  // namespace exprun
