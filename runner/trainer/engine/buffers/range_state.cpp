#include "engine/buffers/range_state.h"

#include <ATen/ops/zeros_like.h>

namespace exprun {

RangeState::RangeState(std::string name, const std::vector<FlatRange>& ranges)
    : name_(std::move(name)) {
  for (const FlatRange& range : ranges) tensors_.push_back(at::zeros_like(range.values));
}

OptimizerState RangeState::state() const {
  return {name_, tensors_};
}

}  // namespace exprun
