#include "layers/linear.h"

#include "kernels/linear.h"

namespace exprun {

Linear Linear::declare(ParameterList& parameters, const std::string& name, Shape shape,
                       const InitialWeights& weights) {
  Linear layer;
  layer.compute = parameters.precision().compute;
  layer.weight = parameters.add(name + ".weight", ParameterClass::matrix, {shape.out, shape.in},
                                weights.matrix(shape.in));
  if (shape.bias)
    layer.bias =
        parameters.add(name + ".bias", ParameterClass::vector, {shape.out}, weights.bias(shape.in));
  return layer;
}

at::Tensor Linear::operator()(const at::Tensor& x) const {
  return linear(x.to(compute), weight.to(compute), bias.defined() ? bias.to(compute) : bias);
}

}  // namespace exprun
