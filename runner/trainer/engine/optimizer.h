// What an optimizer is to the engine. The engine owns buffers, ownership, clipping and collectives;
// an optimizer turns gradients into new values, for what it was given.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/parameter.h"
#include "engine/registry.h"
#include "recipe/section.h"

namespace exprun {

// A contiguous stretch of parameters in a flat buffer, or a matrix of it; padding inside is zero
// and stays zero. What an optimizer is given has one dtype.
struct FlatRange {
  at::Tensor values;     // (n)
  at::Tensor gradients;  // (n)
  bool decays = false;   // whether weight decay applies (the engine reads the recipe's `decay`)
};

// What one optimizer steps: an element-wise one gets `ranges`, a matrix-wise one `matrices`.
struct ParameterGroup {
  std::string name;  // "default" or the name of [optimizer.groups.<name>]
  std::vector<FlatRange> ranges;
  std::vector<Parameter> matrices;  // (rows, columns), their .grad is set
};

// A state: a tensor for each of what the optimizer was given, in its format and layout, so that the
// engine can cut it by parameter: of each of ParameterGroup::ranges its length, of each matrix its
// shape.
// Named also where nothing was given. Updated in place by a load.
struct OptimizerState {
  std::string name;  // "exp_avg"
  std::vector<at::Tensor> tensors;
};

class Optimizer {
 public:
  enum class Granularity { element_wise, matrix_wise };
  struct Factory {
    Granularity granularity;
    std::unique_ptr<Optimizer> (*build)(const Section& section, ParameterGroup group);
  };

  virtual ~Optimizer() = default;

  // The peak learning rate of the recipe; the schedule scales it.
  virtual double lr() const = 0;

  // One update with the given rate. `update` counts from 1: bias corrections use it, so the number
  // of steps is no state of the optimizer.
  virtual void step(double lr, int64_t update) = 0;

  virtual std::vector<OptimizerState> state() = 0;
};

}  // namespace exprun
