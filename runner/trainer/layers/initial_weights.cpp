#include "layers/initial_weights.h"

#include <cmath>

namespace exprun {
namespace {

Initialization uniform_for(int64_t inputs) {
  return Initialization::uniform(1 / std::sqrt(static_cast<double>(inputs)));
}

}  // namespace

InitialWeights InitialWeights::normal(double std, double residual_std) {
  InitialWeights weights;
  weights.std_ = std;
  weights.residual_std_ = residual_std;
  return weights;
}

InitialWeights InitialWeights::pytorch() {
  InitialWeights weights;
  weights.pytorch_ = true;
  return weights;
}

Initialization InitialWeights::embedding() const {
  return Initialization::normal(pytorch_ ? 1 : std_);
}

Initialization InitialWeights::matrix(int64_t inputs) const {
  return pytorch_ ? uniform_for(inputs) : Initialization::normal(std_);
}

Initialization InitialWeights::bias(int64_t inputs) const {
  return pytorch_ ? uniform_for(inputs) : Initialization::constant(0);
}

InitialWeights InitialWeights::of_residual() const {
  InitialWeights weights = *this;
  weights.std_ = residual_std_;
  return weights;
}

}  // namespace exprun
