#include "engine/optimizers.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <cmath>
#include <map>

#include "base/random.h"

namespace exprun {

namespace {

// One buffer for each dtype, in the order in which the dtypes first appear.
void add_buffers(std::vector<FlatBuffer>& buffers, const std::vector<Parameter>& parameters,
                 bool decays) {
  std::map<at::ScalarType, std::vector<Parameter>> by_dtype;
  for (const Parameter& parameter : parameters)
    by_dtype[parameter.tensor.scalar_type()].push_back(parameter);
  for (auto& [dtype, same] : by_dtype) buffers.emplace_back(std::move(same), decays);
}

// By rows first: one fp32 sum over a long buffer loses digits of the norm (1e-5 at a million).
double sum_of_squares(const at::Tensor& flat) {
  constexpr int64_t kRow = 256;
  const int64_t whole = flat.numel() / kRow * kRow;
  const auto rows =
      at::linalg_vector_norm(flat.narrow(0, 0, whole).view({-1, kRow}), 2, {1}).to(at::kDouble);
  const auto rest = flat.narrow(0, whole, flat.numel() - whole).to(at::kDouble);
  return at::dot(rows, rows).item<double>() + at::dot(rest, rest).item<double>();
}

bool is_matrix_wise(const Section& section) {
  return Registry<Optimizer>::instance().find(section.type()).granularity ==
         Optimizer::Granularity::matrix_wise;
}

std::vector<Parameter> matrices_of(const std::vector<FlatBuffer>& buffers) {
  std::vector<Parameter> matrices;
  for (const FlatBuffer& buffer : buffers)
    for (const auto& slot : buffer.slots()) matrices.push_back(slot.parameter);
  return matrices;
}

void share_values(ProcessGroup& group, const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters)
    group.broadcast(parameter.tensor.detach().contiguous(), 0)->wait();
}

}  // namespace

Optimizers::Optimizers(const Section& section, const std::vector<Parameter>& parameters,
                       std::shared_ptr<ProcessGroup> group, std::optional<int64_t> rounding_seed)
    : rounding_seed_(rounding_seed), groups_(optimizer_groups(section, parameters)) {
  share_values(*group, parameters);
  for (const OptimizerGroup& each : groups_) steppers_.push_back(build(each));
  std::vector<const FlatBuffer*> buffers;
  for (const Stepper& stepper : steppers_)
    for (const FlatBuffer& buffer : stepper.buffers) buffers.push_back(&buffer);
  sync_ = std::make_unique<GradientSync>(std::move(group), buffers, parameters);
}

Optimizers::Stepper Optimizers::build(const OptimizerGroup& group) const {
  Stepper stepper;
  add_buffers(stepper.buffers, group.decayed, true);
  add_buffers(stepper.buffers, group.undecayed, false);
  ParameterGroup parts{group.name, {}, {}};
  if (is_matrix_wise(group.section))
    parts.matrices = matrices_of(stepper.buffers);
  else
    parts.ranges = ranges_of(stepper);
  stepper.optimizer = Registry<Optimizer>::instance()
                          .find(group.section.type())
                          .build(group.section, std::move(parts));
  return stepper;
}

std::vector<FlatRange> Optimizers::ranges_of(Stepper& stepper) const {
  std::vector<FlatRange> ranges;
  for (const FlatBuffer& buffer : stepper.buffers) {
    const FlatRange range = buffer.range();
    const bool rounds = rounding_seed_ && range.values.scalar_type() == at::kBFloat16;
    if (rounds) stepper.rounded.emplace_back(range);
    ranges.push_back(rounds ? stepper.rounded.back().wide() : range);
  }
  return ranges;
}

double Optimizers::lr(double factor) const {
  return factor * steppers_.at(0).optimizer->lr();
}

void Optimizers::zero_gradients() {
  for (const Stepper& stepper : steppers_)
    for (const FlatBuffer& buffer : stepper.buffers) buffer.range().gradients.zero_();
}

double Optimizers::gradient_norm() const {
  double sum = 0;
  for (const Stepper& stepper : steppers_)
    for (const FlatBuffer& buffer : stepper.buffers) {
      sum += sum_of_squares(buffer.range().gradients);
    }
  return std::sqrt(sum);
}

void Optimizers::scale_gradients(double coefficient) {
  for (const Stepper& stepper : steppers_)
    for (const FlatBuffer& buffer : stepper.buffers) buffer.range().gradients.mul_(coefficient);
}

void Optimizers::step(double factor, int64_t update) {
  at::NoGradGuard no_grad;
  uint64_t index = 0;
  for (Stepper& stepper : steppers_) {
    for (RoundedRange& range : stepper.rounded) range.widen();
    stepper.optimizer->step(factor * stepper.optimizer->lr(), update);
    for (RoundedRange& range : stepper.rounded)
      range.round(random_bits({static_cast<uint64_t>(*rounding_seed_), random_word("rounding"),
                               static_cast<uint64_t>(update), index++}));
  }
}

std::vector<NamedTensor> Optimizers::parameter_tensors() const {
  std::vector<NamedTensor> tensors;
  for (const Stepper& stepper : steppers_)
    for (const FlatBuffer& buffer : stepper.buffers)
      for (const auto& slot : buffer.slots())
        tensors.push_back({slot.parameter.name, FlatBuffer::cut(buffer.range().values, slot)});
  return tensors;
}

std::vector<NamedTensor> Optimizers::state_tensors() const {
  std::vector<NamedTensor> tensors;
  for (size_t group = 0; group < steppers_.size(); ++group) {
    const Stepper& stepper = steppers_[group];
    const bool matrix_wise = is_matrix_wise(groups_[group].section);
    const auto matrices = matrix_wise ? matrices_of(stepper.buffers) : std::vector<Parameter>{};
    for (const OptimizerState& state : stepper.optimizer->state()) {
      if (matrix_wise) {
        tensors.push_back({matrices.at(state.range).name + "/" + state.name, state.tensor});
        continue;
      }
      for (const auto& slot : stepper.buffers.at(state.range).slots())
        tensors.push_back(
            {slot.parameter.name + "/" + state.name, FlatBuffer::cut(state.tensor, slot)});
    }
  }
  return tensors;
}

}  // namespace exprun
