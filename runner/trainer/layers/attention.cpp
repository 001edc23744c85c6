#include "layers/attention.h"

#include <ATen/ops/dropout.h>

#include "kernels/attention.h"

namespace exprun {

Attention Attention::declare(ParameterList& parameters, const std::string& name, Shape shape,
                             double std, double residual_std) {
  Attention layer;
  layer.query_key_value = Linear::declare(parameters, name + ".query_key_value",
                                          {shape.width, 3 * shape.width, shape.bias}, std);
  layer.output_projection = Linear::declare(parameters, name + ".output_projection",
                                            {shape.width, shape.width, shape.bias}, residual_std);
  layer.num_heads = shape.num_heads;
  layer.dropout = shape.dropout;
  return layer;
}

at::Tensor Attention::operator()(const at::Tensor& x, bool training) const {
  const auto mixed = causal_attention(query_key_value(x), num_heads, training ? dropout : 0);
  return at::dropout(output_projection(mixed), dropout, training);
}

}  // namespace exprun
