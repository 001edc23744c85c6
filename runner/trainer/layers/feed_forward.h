// The position-wise part of a block: up by four, a non-linearity, down.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "kernels/gelu.h"
#include "layers/linear.h"

namespace exprun {

struct FeedForward {
  Linear up_projection;    // (4C, C)
  Linear down_projection;  // (C, 4C)
  GeluForm activation = GeluForm::erf;
  double dropout = 0;

  struct Shape {
    int64_t width;
    bool bias;
    GeluForm activation;
    double dropout;
  };

  static FeedForward declare(ParameterList& parameters, const std::string& name, Shape shape,
                             double std, double residual_std);

  at::Tensor operator()(const at::Tensor& x, bool training) const;  // (B, T, C)
};

}  // namespace exprun
