// How the weights of a model start: one scheme for all its layers.
#pragma once

#include <cstdint>

#include "engine/parameter.h"

namespace exprun {

class InitialWeights {
 public:
  // GPT-2's: normal, biases zero; projections back into the residual stream have `residual_std`.
  static InitialWeights normal(double std, double residual_std);
  // PyTorch's defaults of Linear (uniform within 1 / sqrt(inputs), bias too) and Embedding (N(0,
  // 1)).
  static InitialWeights pytorch();

  Initialization embedding() const;
  Initialization matrix(int64_t inputs) const;
  Initialization bias(int64_t inputs) const;

  // The scheme for projections back into the residual stream.
  InitialWeights of_residual() const;

 private:
  bool pytorch_ = false;
  double std_ = 0;
  double residual_std_ = 0;
};

}  // namespace exprun
