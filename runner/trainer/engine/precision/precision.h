// Number formats of a run ([precision]): what parameters are stored in, part by part, and what
// matrix products compute in. Weights are cast per use; a sum with the residual stream has the
// wider format of the two.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "engine/parameter_class.h"
#include "recipe/section.h"

namespace exprun {

struct Precision {
  at::ScalarType compute = at::kFloat;
  at::ScalarType embedding = at::kFloat;
  at::ScalarType matrix = at::kFloat;
  at::ScalarType vector = at::kFloat;
  bool tf32 = false;  // fp32 products on tensor cores, which round their operands to TF32

  static Precision read(const Section& section);

  at::ScalarType of(ParameterClass kind) const;
};

}  // namespace exprun
