// All optimizers of a run with the buffers that they step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/flat_buffers.h"
#include "engine/named_tensor.h"
#include "engine/optimizer.h"
#include "engine/optimizer_groups.h"
#include "engine/ownership.h"

namespace exprun {

class Optimizers {
 public:
  // Moves the parameters into flat buffers. Throws RecipeError (see optimizer_groups).
  Optimizers(const Section& section, const std::vector<Parameter>& parameters, Ownership ownership);

  const std::vector<OptimizerGroup>& groups() const { return groups_; }

  // The rate of the first group (the one without a name, if there is one) at a schedule's factor.
  double lr(double factor) const;

  void zero_gradients();
  void reduce_gradients();
  // L2 over all parameters.
  double gradient_norm() const;
  void scale_gradients(double coefficient);
  // One update of every group; `update` counts from 1.
  void step(double factor, int64_t update);

  // Views, in the order of the parameters: saving reads them, loading writes them.
  std::vector<NamedTensor> parameter_tensors() const;
  std::vector<NamedTensor> state_tensors() const;  // "<parameter>/<state name>"

 private:
  struct Stepper {
    std::vector<FlatBuffer> buffers;
    std::unique_ptr<Optimizer> optimizer;
  };
  Stepper build(const OptimizerGroup& group) const;

  Ownership ownership_;
  std::vector<OptimizerGroup> groups_;
  std::vector<Stepper> steppers_;  // one a group
};

}  // namespace exprun
