#include "engine/buffers/sharded_buffer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "engine/buffers/ownership.h"
#include "engine/device/device.h"

namespace exprun {

namespace {

// Of nothing too, which cuBLAS need not know.
at::Tensor dot_with_itself(const at::Tensor& x) {
  return x.numel() > 0 ? at::dot(x, x) : at::zeros({}, x.options());
}

// By rows first: one fp32 sum over a long buffer loses digits of the norm (1e-5 at a million).
at::Tensor squares(const at::Tensor& flat) {
  constexpr int64_t kRow = 256;
  const int64_t whole = flat.numel() / kRow * kRow;
  const auto rows =
      at::linalg_vector_norm(flat.narrow(0, 0, whole).view({-1, kRow}), 2, {1}).to(at::kDouble);
  const auto rest = flat.narrow(0, whole, flat.numel() - whole).to(at::kDouble);
  return dot_with_itself(rows).add(dot_with_itself(rest));
}

Stretch stretch_of(const FlatBuffer::Slot& slot) {
  return {slot.offset, slot.parameter.tensor.numel()};
}

}  // namespace

ShardedBuffer::ShardedBuffer(std::vector<Parameter> parameters, bool decays,
                             Optimizer::Granularity granularity, const Parallelism& parallelism,
                             std::optional<at::ScalarType> gradients)
    : group_(parallelism.group),
      flat_(std::move(parameters), decays, parallelism.group->world_size(), gradients),
      of_matrices_(granularity == Optimizer::Granularity::matrix_wise) {
  const bool shards = parallelism.shards_optimizer && group_->exchanges();
  if (shards && of_matrices_)
    give_to_owners();
  else
    cut_evenly(shards ? Bucket::Form::split : Bucket::Form::replicated, parallelism.bucket_bytes);
  if (!shards) stepped_ = {{0, flat_.range().values.numel()}};
  for (const Bucket& bucket : buckets_)
    if (const Stretch part = bucket.part_of(*group_); shards && part.count > 0)
      stepped_.push_back(part);
  units_ = stepped_;
  if (shards || !of_matrices_) return;
  units_.clear();
  for (const auto& slot : flat_.slots()) units_.push_back(stretch_of(slot));
}

// From the end, where backward begins.
void ShardedBuffer::cut_evenly(Bucket::Form form, int64_t bytes) {
  const at::Tensor& all = flat_.range().values;
  const auto element = static_cast<int64_t>(flat_.range().gradients.element_size());
  const int64_t unit =
      kParameterAlignment / static_cast<int64_t>(all.element_size()) * group_->world_size();
  const int64_t most = std::max(unit, bytes / element / unit * unit);
  const int64_t size = group_->exchanges() ? most : all.numel();
  for (int64_t end = all.numel(); end > 0; end -= std::min(end, size)) {
    const int64_t begin = std::max<int64_t>(0, end - size);
    buckets_.emplace_back(form, Stretch{begin, end - begin});
  }
  std::reverse(buckets_.begin(), buckets_.end());
}

void ShardedBuffer::give_to_owners() {
  std::vector<Parameter> matrices;
  for (const auto& slot : flat_.slots()) matrices.push_back(slot.parameter);
  const std::vector<int> owner = owners(matrices, group_->world_size());
  for (size_t i = 0; i < owner.size(); ++i)
    buckets_.emplace_back(Bucket::Form::owned, stretch_of(flat_.slots()[i]), owner[i]);
}

std::vector<const FlatBuffer::Slot*> ShardedBuffer::slots_in(const Bucket& bucket) const {
  std::vector<const FlatBuffer::Slot*> slots;
  for (const auto& slot : flat_.slots())
    if (bucket.stretch().common_with(stretch_of(slot)).count > 0) slots.push_back(&slot);
  return slots;
}

std::vector<FlatRange> ShardedBuffer::ranges() const {
  std::vector<FlatRange> ranges;
  const auto& [values, gradients, decays] = flat_.range();
  for (size_t i = 0; i < units_.size(); ++i) {
    ranges.push_back({units_[i].of(values), units_[i].of(gradients), decays});
    if (!of_matrices_) continue;
    const auto shape = cuts(i).at(0).slot.parameter.tensor.sizes();
    ranges.back().values = ranges.back().values.view(shape);
    ranges.back().gradients = ranges.back().gradients.view(shape);
  }
  return ranges;
}

std::vector<ShardedBuffer::Cut> ShardedBuffer::cuts(size_t unit) const {
  std::vector<Cut> cuts;
  for (const auto& slot : flat_.slots()) {
    const Stretch common = units_[unit].common_with(stretch_of(slot));
    if (common.count > 0)
      cuts.push_back({slot,
                      {common.begin - slot.offset, common.count},
                      {common.begin - units_[unit].begin, common.count}});
  }
  return cuts;
}

at::Tensor ShardedBuffer::sum_of_squares() const {
  at::Tensor sum = at::zeros({}, flat_.range().gradients.options().dtype(at::kDouble));
  for (const Bucket& bucket : buckets_)
    if (const Stretch part = bucket.part_of(*group_); part.count > 0)
      sum.add_(squares(part.of(flat_.range().gradients)));
  return sum;
}

void ShardedBuffer::scale_gradients(double coefficient) const {
  for (const Stretch& stretch : stepped_) stretch.of(flat_.range().gradients).mul_(coefficient);
}

at::Tensor ShardedBuffer::gathered(const std::vector<at::Tensor>& state,
                                   const at::TensorOptions& like) const {
  at::Tensor whole;
  const bool keeps = group_->rank() == 0;
  if (keeps) whole = host_memory({flat_.range().values.numel()}, like);
  size_t unit = 0;
  for (const Bucket& bucket : buckets_) {
    if (!bucket.is_sharded()) continue;
    const Stretch all = bucket.stretch(), own = bucket.part_of(*group_);
    const at::Tensor sent = at::empty({all.count}, like);
    if (own.count > 0)
      sent.narrow(0, own.begin - all.begin, own.count).copy_(state.at(unit++).view(-1));
    bucket.gather(*group_, sent)->wait();
    if (keeps) all.of(whole).copy_(sent, /*non_blocking=*/true);
  }
  const bool has_all = !buckets_.front().is_sharded();
  for (size_t i = 0; keeps && has_all && i < state.size(); ++i)
    units_[i].of(whole).copy_(state[i].view(-1), /*non_blocking=*/true);
  return whole;
}

void ShardedBuffer::fill(const std::vector<at::Tensor>& state,
                         const std::function<at::Tensor(const Parameter&)>& whole) const {
  for (size_t unit = 0; unit < state.size(); ++unit)
    for (const auto& [slot, of_parameter, of_unit] : cuts(unit))
      of_unit.of(state[unit].view(-1)).copy_(of_parameter.of(whole(slot.parameter).view(-1)));
}

}  // namespace exprun
