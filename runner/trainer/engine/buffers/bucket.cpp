#include "engine/buffers/bucket.h"

#include <algorithm>

namespace exprun {

Stretch Stretch::common_with(const Stretch& other) const {
  const int64_t first = std::max(begin, other.begin);
  return {first, std::min(end(), other.end()) - first};
}

Stretch Bucket::part_of(const ProcessGroup& group) const {
  if (form_ == Form::owned) return {stretch_.begin, group.rank() == owner_ ? stretch_.count : 0};
  const int64_t count = stretch_.count / group.world_size();
  return {stretch_.begin + group.rank() * count, count};
}

at::Tensor Bucket::part(const ProcessGroup& group, const at::Tensor& tensor) const {
  const Stretch own = part_of(group);
  return tensor.narrow(0, own.begin - stretch_.begin, own.count);
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
