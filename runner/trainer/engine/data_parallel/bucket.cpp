#include "engine/data_parallel/bucket.h"

#include <algorithm>

namespace exprun {

Slice Slice::common_with(const Slice& other) const {
  const int64_t first = std::max(begin, other.begin);
  return {first, std::min(end(), other.end()) - first};
}

Slice Bucket::part_of(const ProcessGroup& group) const {
  if (form_ == Form::owned) return {slice_.begin, group.rank() == owner_ ? slice_.count : 0};
  const int64_t count = slice_.count / group.world_size();
  return {slice_.begin + group.rank() * count, count};
}

at::Tensor Bucket::part(const ProcessGroup& group, const at::Tensor& tensor) const {
  const Slice own = part_of(group);
  return tensor.narrow(0, own.begin - slice_.begin, own.count);
}

std::unique_ptr<Collective> Bucket::reduce(ProcessGroup& group, const at::Tensor& tensor) const {
  if (form_ == Form::replicated) return group.all_reduce(tensor);
  if (form_ == Form::owned) return group.reduce(tensor, owner_);
  return group.reduce_scatter(part(group, tensor), tensor);
}

std::unique_ptr<Collective> Bucket::gather(ProcessGroup& group, const at::Tensor& tensor) const {
  if (form_ == Form::owned) return group.broadcast(tensor, owner_);
  return group.all_gather(tensor, part(group, tensor));
}

}  // namespace exprun
