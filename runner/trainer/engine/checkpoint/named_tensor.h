// A tensor by name: what checkpoints, import and export exchange.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

namespace exprun {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

}  // namespace exprun
