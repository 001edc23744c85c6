#include "layers/linear.h"

#include "kernels/linear.h"

namespace exprun {

Linear Linear::declare(ParameterList& parameters, const std::string& name, Shape shape,
                       double std) {
  Linear layer;
  layer.weight = parameters.add(name + ".weight", ParameterClass::matrix, {shape.out, shape.in},
                                Initialization::normal(std));
  if (shape.bias)
    layer.bias = parameters.add(name + ".bias", ParameterClass::vector, {shape.out},
                                Initialization::constant(0));
  return layer;
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  return linear(x, weight, bias);
}

}  // namespace exprun
