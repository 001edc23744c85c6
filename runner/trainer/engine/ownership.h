// Which part of a flat buffer this rank steps, and the exchange of gradients. With one rank it owns
// everything and the exchange changes nothing, which is all that is supported. More ranks also need
// here: the values gathered after a step, and the sums over ranks of the loss, of the count of
// valid tokens and of the squared gradient norm. Beyond this class they need samples divided among
// ranks, and state tensors of a part that checkpoints put together.
#pragma once

#include <memory>

#include "dist/process_group.h"
#include "engine/optimizer.h"

namespace exprun {

class Ownership {
 public:
  explicit Ownership(std::shared_ptr<ProcessGroup> group) : group_(std::move(group)) {}

  // The part of a buffer whose optimizer state lives here: all of it.
  FlatRange owned(const FlatRange& whole) const { return whole; }

  // After the last backward of a step: gradients become their sums over the ranks.
  void reduce(const FlatRange& whole) const {
    at::Tensor gradients = whole.gradients;
    group_->all_reduce(gradients);
  }

 private:
  std::shared_ptr<ProcessGroup> group_;
};

}  // namespace exprun
