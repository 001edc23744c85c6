// Causal self-attention of many heads (Vaswani et al. 2017), query, key and value from one product.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "layers/linear.h"

namespace exprun {

struct Attention {
  Linear query_key_value;    // (3C, C): all queries, all keys, all values
  Linear output_projection;  // (C, C)
  int64_t num_heads = 1;
  double dropout = 0;

  struct Shape {
    int64_t width;
    int64_t num_heads;
    bool bias;
    double dropout;
  };

  // `residual_std` is that of the projection back into the residual stream.
  static Attention declare(ParameterList& parameters, const std::string& name, Shape shape,
                           double std, double residual_std);

  at::Tensor operator()(const at::Tensor& x, bool training) const;  // (B, T, C)
};

}  // namespace exprun
