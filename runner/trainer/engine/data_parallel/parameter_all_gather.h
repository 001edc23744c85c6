// New values on their way between ranks: what each rank has stepped comes to all others, bucket by
// bucket in the order in which a forward pass uses them, while it computes with those that are
// there.
#pragma once

#include <memory>
#include <vector>

#include "engine/data_parallel/sharded_buffer.h"

namespace exprun {

class ParameterAllGather {
 public:
  // `order`: all parameters as the model declares them, which is the order in which it uses them.
  // The buffers outlive it.
  ParameterAllGather(std::shared_ptr<ProcessGroup> group,
                     const std::vector<const ShardedBuffer*>& buffers,
                     const std::vector<Parameter>& order);
  ~ParameterAllGather();
  ParameterAllGather(const ParameterAllGather&) = delete;
  ParameterAllGather& operator=(const ParameterAllGather&) = delete;

  // After a step, on all ranks together. Values must not be read before they are awaited.
  void begin();
  // Until the values of the first `count` parameters of the order are there. Throws Error.
  void await(size_t count);
  void await_all() { await(order_size_); }

 private:
  struct PendingBucket;

  std::shared_ptr<ProcessGroup> group_;
  size_t order_size_;
  std::vector<PendingBucket> pending_;  // by the first parameter in them
};

}  // namespace exprun
