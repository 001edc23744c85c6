// All optimizers of a run with the buffers that they step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dist/process_group.h"
#include "engine/flat_buffers.h"
#include "engine/gradient_sync.h"
#include "engine/named_tensor.h"
#include "engine/optimizer.h"
#include "engine/optimizer_groups.h"
#include "engine/stochastic_rounding.h"

namespace exprun {

class Optimizers {
 public:
  // Moves the parameters into flat buffers; rank 0's values become those of all. With a seed, bf16
  // weights of element-wise optimizers are rounded stochastically. Throws RecipeError (see
  // optimizer_groups).
  Optimizers(const Section& section, const std::vector<Parameter>& parameters,
             std::shared_ptr<ProcessGroup> group,
             std::optional<int64_t> rounding_seed = std::nullopt);

  const std::vector<OptimizerGroup>& groups() const { return groups_; }

  // The rate of the first group (the one without a name, if there is one) at a schedule's factor.
  double lr(double factor) const;

  void zero_gradients();
  // Around the last backward of a step: gradients become their sums over the ranks.
  void begin_gradient_sync() { sync_->begin(); }
  void finish_gradient_sync() { sync_->finish(); }
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
    std::vector<RoundedRange> rounded;  // of the buffers in bf16, if they are rounded so
  };
  Stepper build(const OptimizerGroup& group) const;
  std::vector<FlatRange> ranges_of(Stepper& stepper) const;

  std::optional<int64_t> rounding_seed_;
  std::vector<OptimizerGroup> groups_;
  std::vector<Stepper> steppers_;  // one a group
  std::unique_ptr<GradientSync> sync_;
};

}  // namespace exprun
