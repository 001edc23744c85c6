#include "layers/feed_forward.h"

#include <ATen/ops/dropout.h>

#include <stdexcept>

#include "kernels/activation.h"

namespace exprun {
namespace {

at::Tensor activated(const FeedForward& layer, const at::Tensor& x, bool training) {
  const auto up = layer.up_projection(x, training);
  switch (layer.activation) {
    case Activation::gelu:
      return activation(up, ActivationForm::gelu);
    case Activation::gelu_tanh:
      return activation(up, ActivationForm::gelu_tanh);
    case Activation::relu_squared:
      return activation(up, ActivationForm::relu_squared);
    case Activation::swiglu:
      return swiglu(layer.gate_projection(x, training), up);
  }
  throw std::logic_error("feed_forward: no such activation");
}

}  // namespace

FeedForward FeedForward::declare(ParameterList& parameters, const std::string& name, Shape shape,
                                 const InitialWeights& weights) {
  FeedForward layer;
  const auto into = [&](const char* part) {
    return Linear::declare(parameters, name + part, {shape.width, shape.hidden, shape.bias},
                           weights);
  };
  layer.up_projection = into(".up_projection");
  if (shape.activation == Activation::swiglu) layer.gate_projection = into(".gate_projection");
  layer.down_projection =
      Linear::declare(parameters, name + ".down_projection",
                      {shape.hidden, shape.width, shape.bias}, weights.of_residual());
  layer.activation = shape.activation;
  layer.dropout = shape.dropout;
  return layer;
}

at::Tensor FeedForward::operator()(const at::Tensor& x, bool training) const {
  return at::dropout(down_projection(activated(*this, x, training), training), dropout, training);
}

}  // namespace exprun
