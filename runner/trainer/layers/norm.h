// Layer normalisation of the last dimension (Ba et al. 2016), with or without a bias.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "engine/parameter.h"

namespace exprun {

struct LayerNorm {
  at::Tensor weight;  // (C)
  at::Tensor bias;    // (C), or undefined
  double eps = 1e-5;

  static LayerNorm declare(ParameterList& parameters, const std::string& name, int64_t width,
                           bool bias, double eps);

  at::Tensor operator()(const at::Tensor& x) const;  // (..., C)
};

}  // namespace exprun
