// Number formats of a run ([precision]): what parameters are stored in, part by part, and what
// matrix products compute in. Weights are cast per use; a sum with the residual stream has the
// wider format of the two.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
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

// What an update of bf16 weights works with; over fp32 weights all is fp32.
struct UpdatePrecision {
  at::ScalarType gradients = at::kFloat;  // as they accumulate over micro-batches and ranks
  at::ScalarType state = at::kFloat;      // of the optimizer, and what it computes in
  std::optional<int64_t> rounding_seed = std::nullopt;  // weights are rounded stochastically by it

  static UpdatePrecision read(const Section& section, int64_t seed);

  at::ScalarType gradients_of(at::ScalarType weights) const {
    return weights == at::kBFloat16 ? gradients : weights;
  }
  at::ScalarType state_of(at::ScalarType weights) const {
    return weights == at::kBFloat16 ? state : weights;
  }
};

}  // namespace exprun
