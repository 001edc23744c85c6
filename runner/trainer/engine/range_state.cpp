#include "engine/range_state.h"

#include <ATen/ops/zeros_like.h>

namespace exprun {

RangeState::RangeState(std::string name, const std::vector<FlatRange>& ranges)
    : name_(std::move(name)) {
  for (const FlatRange& range : ranges) tensors_.push_back(at::zeros_like(range.values));
}

void RangeState::append_to(std::vector<OptimizerState>& state) const {
  for (size_t i = 0; i < tensors_.size(); ++i) state.push_back({name_, i, tensors_[i]});
}

}  // namespace exprun
