// The ranks that train one run together. One process is the group of one.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

namespace exprun {

class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;

  virtual int rank() const = 0;
  virtual int world_size() const = 0;

  // Replaces the tensor by its sum over all ranks, on every rank.
  virtual void all_reduce(at::Tensor& tensor) = 0;
};

// Rank 0 of a world of 1: every collective is the identity.
std::unique_ptr<ProcessGroup> single_process();

}  // namespace exprun
