// DDP on the flat buffers: gradients become their sums over the ranks, bucket by bucket, while
// backward still computes the others.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dist/process_group.h"
#include "engine/flat_buffers.h"

namespace exprun {

class GradientSync {
 public:
  static constexpr int64_t kBucketBytes = 25 << 20;  // PyTorch's DDP has the same

  // Watches the gradients of the buffers' parameters, if there is more than one rank. `order`: all
  // parameters as the model declares them; backward reaches them about in reverse.
  GradientSync(std::shared_ptr<ProcessGroup> group, const std::vector<const FlatBuffer*>& buffers,
               const std::vector<Parameter>& order, int64_t bucket_bytes = kBucketBytes);
  ~GradientSync();
  GradientSync(const GradientSync&) = delete;
  GradientSync& operator=(const GradientSync&) = delete;

  // Before the last backward of a step: a bucket is now on its way as soon as it is complete.
  void begin();

  // After it: until all gradients are sums. A bucket that backward did not complete goes now.
  void finish();

 private:
  struct Bucket;
  class Watch;

  void add_buckets(const FlatBuffer& buffer, const std::vector<Parameter>& order, int64_t bytes);
  void completed_one_of(Bucket& bucket);
  void send_in_order(bool all);

  std::shared_ptr<ProcessGroup> group_;
  std::vector<std::unique_ptr<Bucket>> buckets_;  // in the order in which all ranks send them
  std::unique_ptr<Watch> watch_;
  size_t next_ = 0;  // the first bucket that is not on its way
  bool sending_ = false;
};

}  // namespace exprun
