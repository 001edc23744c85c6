#include "engine/data_parallel/sharded_buffer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>

#include "engine/device/device.h"

namespace exprun {
namespace {

double cost(const at::Tensor& matrix) {
  const auto shorter = static_cast<double>(std::min(matrix.size(0), matrix.size(1)));
  return shorter * static_cast<double>(matrix.numel());
}

}  // namespace

std::vector<int> owners(const std::vector<Parameter>& matrices, int world_size) {
  std::vector<size_t> order(matrices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return cost(matrices[a].tensor) > cost(matrices[b].tensor);
  });
  std::vector<double> load(static_cast<size_t>(world_size));
  std::vector<int> owners(matrices.size());
  for (const size_t matrix : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += cost(matrices[matrix].tensor);
    owners[matrix] = static_cast<int>(least - load.begin());
  }
  return owners;
}

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

Slice slice_of(const FlatBuffer::ParameterSlice& parameter_slice) {
  return {parameter_slice.offset, parameter_slice.parameter.tensor.numel()};
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
    if (const Slice part = bucket.part_of(*group_); shards && part.count > 0)
      stepped_.push_back(part);
  units_ = stepped_;
  if (shards || !of_matrices_) return;
  units_.clear();
  for (const auto& parameter_slice : flat_.parameter_slices())
    units_.push_back(slice_of(parameter_slice));
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
    buckets_.emplace_back(form, Slice{begin, end - begin});
  }
  std::reverse(buckets_.begin(), buckets_.end());
}

void ShardedBuffer::give_to_owners() {
  std::vector<Parameter> matrices;
  for (const auto& parameter_slice : flat_.parameter_slices())
    matrices.push_back(parameter_slice.parameter);
  const std::vector<int> owner = owners(matrices, group_->world_size());
  for (size_t i = 0; i < owner.size(); ++i)
    buckets_.emplace_back(Bucket::Form::owned, slice_of(flat_.parameter_slices()[i]), owner[i]);
}

std::vector<const FlatBuffer::ParameterSlice*> ShardedBuffer::parameter_slices_in(
    const Bucket& bucket) const {
  std::vector<const FlatBuffer::ParameterSlice*> parameter_slices;
  for (const auto& parameter_slice : flat_.parameter_slices())
    if (bucket.slice().common_with(slice_of(parameter_slice)).count > 0)
      parameter_slices.push_back(&parameter_slice);
  return parameter_slices;
}

std::vector<FlatRange> ShardedBuffer::ranges() const {
  std::vector<FlatRange> ranges;
  const auto& [values, gradients, decays] = flat_.range();
  for (size_t i = 0; i < units_.size(); ++i) {
    ranges.push_back({units_[i].of(values), units_[i].of(gradients), decays});
    if (!of_matrices_) continue;
    const auto shape = parameter_parts(i).at(0).parameter_slice.parameter.tensor.sizes();
    ranges.back().values = ranges.back().values.view(shape);
    ranges.back().gradients = ranges.back().gradients.view(shape);
  }
  return ranges;
}

std::vector<ShardedBuffer::ParameterPart> ShardedBuffer::parameter_parts(size_t unit) const {
  std::vector<ParameterPart> parameter_parts;
  for (const auto& parameter_slice : flat_.parameter_slices()) {
    const Slice common = units_[unit].common_with(slice_of(parameter_slice));
    if (common.count > 0)
      parameter_parts.push_back({parameter_slice,
                                 {common.begin - parameter_slice.offset, common.count},
                                 {common.begin - units_[unit].begin, common.count}});
  }
  return parameter_parts;
}

at::Tensor ShardedBuffer::sum_of_squares() const {
  at::Tensor sum = at::zeros({}, flat_.range().gradients.options().dtype(at::kDouble));
  for (const Bucket& bucket : buckets_)
    if (const Slice part = bucket.part_of(*group_); part.count > 0)
      sum.add_(squares(part.of(flat_.range().gradients)));
  return sum;
}

void ShardedBuffer::scale_gradients(double coefficient) const {
  for (const Slice& slice : stepped_) slice.of(flat_.range().gradients).mul_(coefficient);
}

at::Tensor ShardedBuffer::gathered(const std::vector<at::Tensor>& state,
                                   const at::TensorOptions& like) const {
  at::Tensor whole;
  const bool keeps = group_->rank() == 0;
  if (keeps) whole = host_memory({flat_.range().values.numel()}, like);
  size_t unit = 0;
  for (const Bucket& bucket : buckets_) {
    if (!bucket.is_sharded()) continue;
    const Slice all = bucket.slice(), own = bucket.part_of(*group_);
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
    for (const auto& [parameter_slice, of_parameter, of_unit] : parameter_parts(unit))
      of_unit.of(state[unit].view(-1))
          .copy_(of_parameter.of(whole(parameter_slice.parameter).view(-1)));
}

}  // namespace exprun
