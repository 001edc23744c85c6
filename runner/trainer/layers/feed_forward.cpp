#include "layers/feed_forward.h"

#include <ATen/ops/dropout.h>

namespace exprun {

FeedForward FeedForward::declare(ParameterList& parameters, const std::string& name, Shape shape,
                                 double std, double residual_std) {
  FeedForward layer;
  layer.up_projection = Linear::declare(parameters, name + ".up_projection",
                                        {shape.width, 4 * shape.width, shape.bias}, std);
  layer.down_projection = Linear::declare(parameters, name + ".down_projection",
                                          {4 * shape.width, shape.width, shape.bias}, residual_std);
  layer.activation = shape.activation;
  layer.dropout = shape.dropout;
  return layer;
}

at::Tensor FeedForward::operator()(const at::Tensor& x, bool training) const {
  return at::dropout(down_projection(gelu(up_projection(x), activation)), dropout, training);
}

}  // namespace exprun
