#include "engine/data_parallel/parameter_all_gather.h"

#include <algorithm>

namespace exprun {

struct ParameterAllGather::PendingBucket {
  const Bucket* bucket;
  at::Tensor values;
  size_t first_place = 0;  // in the order
  std::unique_ptr<Collective> on_its_way;
};

ParameterAllGather::ParameterAllGather(std::shared_ptr<ProcessGroup> group,
                                       const std::vector<const ShardedBuffer*>& buffers,
                                       const std::vector<Parameter>& order)
    : group_(std::move(group)), order_size_(order.size()) {
  const auto place_of = places(order);
  for (const ShardedBuffer* buffer : buffers)
    for (const Bucket& bucket : buffer->buckets()) {
      if (!bucket.is_sharded()) continue;
      size_t first = order.size() - 1;
      for (const FlatBuffer::ParameterSlice* parameter_slice : buffer->parameter_slices_in(bucket))
        first = std::min(first, place_of.at(parameter_slice->parameter.name));
      pending_.push_back(
          {&bucket, bucket.slice().of(buffer->flat().range().values), first, nullptr});
    }
  std::stable_sort(
      pending_.begin(), pending_.end(),
      [](const PendingBucket& a, const PendingBucket& b) { return a.first_place < b.first_place; });
}

ParameterAllGather::~ParameterAllGather() = default;

void ParameterAllGather::begin() {
  for (PendingBucket& pending : pending_)
    pending.on_its_way = pending.bucket->gather(*group_, pending.values);
}

void ParameterAllGather::await(size_t count) {
  for (PendingBucket& pending : pending_) {
    if (pending.first_place >= count) return;
    if (pending.on_its_way) pending.on_its_way->wait();
    pending.on_its_way.reset();
  }
}

}  // namespace exprun
