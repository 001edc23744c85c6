#include "layers/norm.h"

#include "kernels/layer_norm.h"

namespace exprun {

LayerNorm LayerNorm::declare(ParameterList& parameters, const std::string& name, int64_t width,
                             bool bias, double eps) {
  LayerNorm layer;
  layer.eps = eps;
  layer.weight = parameters.add(name + ".weight", ParameterClass::vector, {width},
                                Initialization::constant(1));
  if (bias)
    layer.bias = parameters.add(name + ".bias", ParameterClass::vector, {width},
                                Initialization::constant(0));
  return layer;
}

at::Tensor LayerNorm::operator()(const at::Tensor& x) const {
  return layer_norm(x, weight, bias, eps);
}

}  // namespace exprun
