// The position-wise part of a block: up, a non-linearity, down.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "layers/linear.h"

namespace exprun {

// swiglu (Shazeer 2020): silu of a gate of its own, times the up projection.
enum class Activation { gelu, gelu_tanh, relu_squared, swiglu };

struct FeedForward {
  Linear up_projection;    // (F, C)
  Linear gate_projection;  // (F, C), with swiglu only
  Linear down_projection;  // (C, F)
  Activation activation = Activation::gelu;
  double dropout = 0;

  struct Shape {
    int64_t width;   // C
    int64_t hidden;  // F
    bool bias;
    Activation activation;
    double dropout;

    int64_t saved_for_backward() const;  // values a token, its input not among them
  };

  static FeedForward declare(ParameterList& parameters, const std::string& name, Shape shape,
                             const InitialWeights& weights);

  at::Tensor operator()(const at::Tensor& x, bool training) const;  // (B, T, C)
};

}  // namespace exprun
