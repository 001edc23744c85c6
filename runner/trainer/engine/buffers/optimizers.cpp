#include "engine/buffers/optimizers.h"

#include <ATen/core/grad_mode.h>

#include <map>

#include "base/hash.h"
#include "base/random.h"
#include "engine/device/device.h"

namespace exprun {
namespace {

Optimizer::Factory factory_of(const OptimizerGroup& group) {
  return Registry<Optimizer>::instance().find(group.section.type());
}

// One buffer for each dtype, in the order of the dtypes.
void add_buffers(std::vector<ShardedBuffer>& buffers, const std::vector<Parameter>& parameters,
                 bool decays, Optimizer::Granularity granularity, const Parallelism& parallelism,
                 const UpdatePrecision& precision) {
  std::map<at::ScalarType, std::vector<Parameter>> by_dtype;
  for (const Parameter& parameter : parameters)
    by_dtype[parameter.tensor.scalar_type()].push_back(parameter);
  for (auto& [dtype, same] : by_dtype)
    buffers.emplace_back(std::move(same), decays, granularity, parallelism,
                         precision.gradients_of(dtype));
}

void share_values(ProcessGroup& group, const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters)
    group.broadcast(parameter.tensor.detach().contiguous(), 0)->wait();
}

}  // namespace

Optimizers::Optimizers(const Section& section, const std::vector<Parameter>& parameters,
                       Parallelism parallelism, const UpdatePrecision& precision)
    : parallelism_(std::move(parallelism)),
      precision_(precision),
      frozen_(freeze(section, parameters)),
      groups_(optimizer_groups(section, parameters)) {
  share_values(*parallelism_.group, parameters);
  for (const OptimizerGroup& each : groups_) stepped_groups_.push_back(build(each));
  std::vector<const ShardedBuffer*> buffers;
  for (const SteppedGroup& stepped_group : stepped_groups_)
    for (const ShardedBuffer& buffer : stepped_group.buffers) buffers.push_back(&buffer);
  reducer_ = std::make_unique<GradientReducer>(parallelism_.group, buffers, parameters);
  gather_ = std::make_unique<ParameterAllGather>(parallelism_.group, buffers, parameters);
}

Optimizers::SteppedGroup Optimizers::build(const OptimizerGroup& group) const {
  const auto [granularity, build] = factory_of(group);
  SteppedGroup stepped_group;
  add_buffers(stepped_group.buffers, group.decayed, true, granularity, parallelism_, precision_);
  add_buffers(stepped_group.buffers, group.undecayed, false, granularity, parallelism_, precision_);
  add_units(stepped_group);
  ParameterGroup parts{group.name, {}, {}};
  for (const auto& [range, buffer, index] : stepped_group.units)
    if (granularity == Optimizer::Granularity::element_wise) {
      parts.ranges.push_back(range.seen());
    } else {
      Parameter matrix = buffer.parameter_parts(index).at(0).parameter_slice.parameter;
      matrix.tensor = range.seen().values;
      parts.matrices.push_back(std::move(matrix));
    }
  stepped_group.optimizer = build(group.section, std::move(parts));
  for (auto& unit : stepped_group.units) unit.range.drop();
  return stepped_group;
}

void Optimizers::add_units(SteppedGroup& stepped_group) const {
  for (const ShardedBuffer& buffer : stepped_group.buffers) {
    const std::vector<FlatRange> ranges = buffer.ranges();
    for (size_t i = 0; i < ranges.size(); ++i)
      stepped_group.units.push_back(
          {SteppedRange(ranges[i], precision_.state_of(ranges[i].values.scalar_type())), buffer,
           i});
  }
}

double Optimizers::lr(double factor) const {
  return factor * stepped_groups_.at(0).optimizer->lr();
}

void Optimizers::zero_gradients() {
  for (const SteppedGroup& stepped_group : stepped_groups_)
    for (const ShardedBuffer& buffer : stepped_group.buffers)
      buffer.flat().range().gradients.zero_();
}

std::vector<at::Tensor> Optimizers::squared_gradients() const {
  std::vector<at::Tensor> parts;
  for (const SteppedGroup& stepped_group : stepped_groups_)
    for (const ShardedBuffer& buffer : stepped_group.buffers)
      parts.push_back(buffer.sum_of_squares());
  return parts;
}

void Optimizers::scale_gradients(double coefficient) {
  for (const SteppedGroup& stepped_group : stepped_groups_)
    for (const ShardedBuffer& buffer : stepped_group.buffers) buffer.scale_gradients(coefficient);
}

void Optimizers::step(double factor, int64_t update) {
  at::NoGradGuard no_grad;
  await_values();
  for (SteppedGroup& stepped_group : stepped_groups_) {
    for (auto& unit : stepped_group.units) unit.range.fill();
    stepped_group.optimizer->step(factor * stepped_group.optimizer->lr(), update);
    for (auto& unit : stepped_group.units) store(unit, update);
  }
  gather_->begin();
}

// By parameter, so that what is drawn depends neither on the buffers nor on the ranks.
void Optimizers::store(SteppedGroup::Unit& unit, int64_t update) const {
  auto& [range, buffer, index] = unit;
  if (!precision_.rounding_seed || !range.copies_values()) {
    range.store();
  } else {
    for (const auto& [parameter_slice, of_parameter, of_unit] : buffer.parameter_parts(index)) {
      const uint64_t key =
          random_bits({static_cast<uint64_t>(*precision_.rounding_seed), random_word("rounding"),
                       static_cast<uint64_t>(update), random_word(parameter_slice.parameter.name)});
      range.store_stochastically(of_unit.begin, of_unit.count, key, of_parameter.begin);
    }
  }
  range.drop();
}

std::vector<int> Optimizers::ranks_that_differ() const {
  await_values();
  Hasher hasher;
  const auto add = [&](const at::Tensor& tensor) {
    const at::Tensor values = tensor.cpu();
    hasher.update(values.const_data_ptr(), values.nbytes());
  };
  for (const SteppedGroup& stepped_group : stepped_groups_)
    for (const ShardedBuffer& buffer : stepped_group.buffers) add(buffer.flat().range().values);
  for (const Parameter& parameter : frozen_) add(parameter.tensor);
  const auto ranks = static_cast<size_t>(parallelism_.group->world_size());
  std::vector<double> hashes(ranks);
  // As many digits as a double carries exactly.
  hashes[static_cast<size_t>(parallelism_.group->rank())] =
      static_cast<double>(std::stoull(hasher.hex().substr(0, 13), nullptr, 16));
  hashes = sum_over_ranks(*parallelism_.group, hashes);
  std::vector<int> differ;
  for (size_t rank = 0; rank < ranks; ++rank)
    if (hashes[rank] != hashes[0]) differ.push_back(static_cast<int>(rank));
  return differ;
}

std::vector<NamedTensor> Optimizers::parameter_tensors() const {
  await_values();
  std::vector<NamedTensor> tensors;
  for (const SteppedGroup& stepped_group : stepped_groups_)
    for (const ShardedBuffer& buffer : stepped_group.buffers)
      for (const auto& parameter_slice : buffer.flat().parameter_slices())
        tensors.push_back({parameter_slice.parameter.name,
                           FlatBuffer::cut(buffer.flat().range().values, parameter_slice)});
  for (const Parameter& parameter : frozen_) tensors.push_back({parameter.name, parameter.tensor});
  return tensors;
}

std::vector<Optimizers::BufferState> Optimizers::states() const {
  std::vector<BufferState> states;
  for (const SteppedGroup& stepped_group : stepped_groups_)
    for (OptimizerState& state : stepped_group.optimizer->state()) {
      auto next = state.tensors.begin();
      for (const ShardedBuffer& buffer : stepped_group.buffers) {
        const auto end = next + static_cast<std::ptrdiff_t>(buffer.units().size());
        std::vector<at::Tensor> units(next, end);
        const at::Tensor& values = buffer.flat().range().values;
        const auto options = values.options().dtype(precision_.state_of(values.scalar_type()));
        states.push_back({buffer, state.name, std::move(units), options});
        next = end;
      }
    }
  return states;
}

std::vector<NamedTensor> Optimizers::gathered_state() const {
  std::vector<NamedTensor> tensors;
  at::Device device = at::kCPU;
  for (const auto& [buffer, name, units, options] : states()) {
    const at::Tensor whole = buffer.gathered(units, options);
    device = options.device();
    if (!whole.defined()) continue;
    for (const auto& parameter_slice : buffer.flat().parameter_slices())
      tensors.push_back(
          {parameter_slice.parameter.name + "/" + name, FlatBuffer::cut(whole, parameter_slice)});
  }
  await(device);
  parallelism_.group->require_intact();
  return tensors;
}

void Optimizers::load_state(const StoredState& stored) const {
  for (const auto& [buffer, name, units, options] : states())
    buffer.fill(units, [&, &name = name, &options = options](const Parameter& parameter) {
      return stored(parameter.name + "/" + name, parameter.tensor.sizes(),
                    options.dtype().toScalarType());
    });
}

Optimizers::StateSize Optimizers::state_size() const {
  StateSize size;
  for (const auto& [buffer, name, units, options] : states()) {
    size.tensors += buffer.flat().parameter_slices().size();
    for (const at::Tensor& unit : units) size.bytes_here += static_cast<int64_t>(unit.nbytes());
    for (const auto& parameter_slice : buffer.flat().parameter_slices())
      size.bytes += parameter_slice.parameter.tensor.numel() *
                    static_cast<int64_t>(options.dtype().itemsize());
  }
  return size;
}

}  // namespace exprun
