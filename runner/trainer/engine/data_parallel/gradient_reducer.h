// Gradients on their way between ranks: bucket by bucket they become their sums, while backward
// still computes the others. Which collective sums one: Bucket::reduce (bucket.cpp). Gloo's
// sums are added in the order of the ranks (dist/backend_group.cpp), NCCL's as NCCL does.
#pragma once

#include <memory>
#include <vector>

#include "engine/data_parallel/sharded_buffer.h"

namespace exprun {

class GradientReducer {
 public:
  // Watches the gradients of the buffers' parameters, if there is more than one rank. `order`: all
  // parameters as the model declares them; backward reaches them about in reverse.
  GradientReducer(std::shared_ptr<ProcessGroup> group,
                  const std::vector<const ShardedBuffer*>& buffers,
                  const std::vector<Parameter>& order);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Call before the last backward of a step; from then on each bucket is sent as soon as its
  // gradients are complete.
  void begin();

  // Call after it: sends the buckets that backward did not complete, and returns when all gradients
  // are sums.
  void finish();

 private:
  struct PendingBucket;
  class Watch;

  void add_pending(const ShardedBuffer& buffer, const std::vector<Parameter>& order);
  void completed_one_of(PendingBucket& pending);
  void send_in_order(bool all);
  static void receive(PendingBucket& pending);

  std::shared_ptr<ProcessGroup> group_;
  std::vector<std::unique_ptr<PendingBucket>>
      pending_;  // in the order in which all ranks send them
  std::unique_ptr<Watch> watch_;
  size_t next_ = 0;  // the first bucket that is not on its way
  bool sending_ = false;
};

}  // namespace exprun
