#include "engine/buffers/moment_buffers.h"

#include <ATen/ops/zeros_like.h>

namespace exprun {

MomentBuffers::MomentBuffers(std::string name, const std::vector<FlatRange>& ranges)
    : name_(std::move(name)) {
  for (const FlatRange& range : ranges) tensors_.push_back(at::zeros_like(range.values));
}

OptimizerState MomentBuffers::state() const {
  return {name_, tensors_};
}

}  // namespace exprun
