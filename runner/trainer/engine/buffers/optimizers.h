// All optimizers of a run with the buffers that they step.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/buffers/optimizer_groups.h"
#include "engine/buffers/stepped_range.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/data_parallel/gradient_reducer.h"
#include "engine/data_parallel/parameter_all_gather.h"
#include "engine/data_parallel/sharded_buffer.h"
#include "engine/optimizer.h"
#include "engine/precision/precision.h"

namespace exprun {

class Optimizers {
 public:
  // Moves the parameters into flat buffers, but frozen ones stay where they are and no longer
  // require grad; rank 0's values become those of all. Throws RecipeError (see optimizer_groups).
  Optimizers(const Section& section, const std::vector<Parameter>& parameters,
             Parallelism parallelism, const UpdatePrecision& precision = {});

  const std::vector<OptimizerGroup>& groups() const { return groups_; }

  // The rate of the first group (the one without a name, if there is one) at a schedule's factor.
  double lr(double factor) const;

  void zero_gradients();
  // Around the last backward of a step: gradients become their sums over the ranks.
  void begin_gradient_reduction() { reducer_->begin(); }
  void finish_gradient_reduction() { reducer_->finish(); }
  // Whose sum over all ranks is the square of the gradients' norm (L2, over all parameters): this
  // rank's parts, 0-dim fp64 on the device, which still computes them.
  std::vector<at::Tensor> squared_gradients() const;
  void scale_gradients(double coefficient);
  // One update of every group, on all ranks together; `update` counts from 1. What other ranks have
  // stepped is then on its way: whoever reads values of the parameters awaits them first.
  void step(double factor, int64_t update);
  // Until the new values of the first `count` parameters, as the model declares them, are there.
  void await_values(size_t count) const { gather_->await(count); }
  void await_values() const { gather_->await_all(); }

  // Collective: the ranks whose parameters are not those of rank 0 to the bit.
  std::vector<int> ranks_that_differ() const;

  // Views, by group, frozen ones last: saving reads them, loading writes them.
  std::vector<NamedTensor> parameter_tensors() const;

  // The state, whole and by parameter, as "<parameter>/<state>": how it is stored does not depend
  // on the ranks. All ranks call it together; rank 0 has copies of all, the others nothing.
  std::vector<NamedTensor> gathered_state() const;
  // The reverse, each rank for itself: `stored` gives a tensor by name, like the parameter in shape
  // and of that dtype.
  using StoredState =
      std::function<at::Tensor(const std::string&, at::IntArrayRef shape, at::ScalarType)>;
  void load_state(const StoredState& stored) const;
  // How many tensors the state has, and its bytes: of all ranks together, and on this one.
  struct StateSize {
    size_t tensors = 0;
    int64_t bytes = 0, bytes_here = 0;
  };
  StateSize state_size() const;

 private:
  struct SteppedGroup {
    std::vector<ShardedBuffer> buffers;
    std::unique_ptr<Optimizer> optimizer;
    struct Unit {
      SteppedRange range;
      const ShardedBuffer& buffer;
      size_t index;
    };
    std::vector<Unit> units;  // of the buffers, one after another
  };
  SteppedGroup build(const OptimizerGroup& group) const;
  void add_units(SteppedGroup& stepped_group) const;
  void store(SteppedGroup::Unit& unit, int64_t update) const;

  // A state tensor of a buffer, in its units.
  struct BufferState {
    const ShardedBuffer& buffer;
    std::string name;
    std::vector<at::Tensor> units;
    at::TensorOptions options;
  };
  std::vector<BufferState> states() const;

  Parallelism parallelism_;
  UpdatePrecision precision_;
  std::vector<Parameter> frozen_;
  std::vector<OptimizerGroup> groups_;
  std::vector<SteppedGroup> stepped_groups_;  // one for each group
  std::unique_ptr<GradientReducer> reducer_;
  std::unique_ptr<ParameterAllGather> gather_;
};

}  // namespace exprun
