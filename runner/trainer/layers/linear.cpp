#include "layers/linear.h"

#include <ATen/ops/add.h>
#include <ATen/ops/dropout.h>

#include <tuple>

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
  if (const auto& lora = parameters.lora(); lora && lora->adapts(name)) {
    std::tie(layer.lora_a, layer.lora_b) = parameters.add_adapter(name, shape.in, shape.out);
    layer.lora_scale = lora->scale();
    layer.lora_dropout = lora->dropout;
  }
  return layer;
}

at::Tensor Linear::operator()(const at::Tensor& x, bool training) const {
  const auto in = x.to(compute);
  const auto out = linear(in, weight.to(compute), bias.defined() ? bias.to(compute) : bias);
  if (!lora_a.defined()) return out;
  const auto narrow = linear(at::dropout(in, lora_dropout, training), lora_a.to(compute));
  return at::add(out, linear(narrow, lora_b.to(compute)), lora_scale);
}

}  // namespace exprun
