#include "engine/buffers/value_gather.h"

#include <algorithm>

namespace exprun {

struct ValueGather::Parcel {
  const Bucket* bucket;
  at::Tensor values;
  size_t first_place = 0;  // in the order
  std::unique_ptr<Collective> on_its_way;
};

ValueGather::ValueGather(std::shared_ptr<ProcessGroup> group,
                         const std::vector<const ShardedBuffer*>& buffers,
                         const std::vector<Parameter>& order)
    : group_(std::move(group)), order_size_(order.size()) {
  const auto place_of = places(order);
  for (const ShardedBuffer* buffer : buffers)
    for (const Bucket& bucket : buffer->buckets()) {
      if (!bucket.is_sharded()) continue;
      size_t first = order.size() - 1;
      for (const FlatBuffer::Slot* slot : buffer->slots_in(bucket))
        first = std::min(first, place_of.at(slot->parameter.name));
      parcels_.push_back(
          {&bucket, bucket.stretch().of(buffer->flat().range().values), first, nullptr});
    }
  std::stable_sort(parcels_.begin(), parcels_.end(),
                   [](const Parcel& a, const Parcel& b) { return a.first_place < b.first_place; });
}

ValueGather::~ValueGather() = default;

void ValueGather::begin() {
  for (Parcel& parcel : parcels_) parcel.on_its_way = parcel.bucket->gather(*group_, parcel.values);
}

void ValueGather::await(size_t count) {
  for (Parcel& parcel : parcels_) {
    if (parcel.first_place >= count) return;
    if (parcel.on_its_way) parcel.on_its_way->wait();
    parcel.on_its_way.reset();
  }
}

}  // namespace exprun
