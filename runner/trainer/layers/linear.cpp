#include "layers/linear.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/dropout.h>

#include <tuple>

#include "engine/precision/precision.h"
#include "kernels/linear.h"
#include "layers/recompute.h"

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
  const auto out = linear(in, weight, bias.defined() ? cast_weight(bias, compute) : bias);
  if (!lora_a.defined()) return out;
  const auto narrow = linear(at::dropout(in, lora_dropout, training), lora_a);
  return at::add(out, linear(narrow, lora_b), lora_scale);
}

at::Tensor Linear::operator()(const Tensors& inputs, const Function& value, bool training) const {
  // It is kept for the weight's gradient alone, and for an adapter. On GPUs nothing was measured.
  const bool would_be_kept = at::GradMode::is_enabled() && weight.requires_grad();
  if (!would_be_kept || lora_a.defined() || !inputs[0].is_cpu())
    return (*this)(value(inputs), training);
  return linear_of_recomputed(
      inputs, [value, format = compute](const Tensors& in) { return value(in).to(format); }, weight,
      bias.defined() ? cast_weight(bias, compute) : bias);
}

}  // namespace exprun
