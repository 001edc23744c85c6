#include "engine/buffers/weight_average.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace exprun {

WeightAverage::WeightAverage(double decay, const std::vector<Parameter>& parameters)
    : decay_(decay) {
  for (const Parameter& parameter : parameters)
    if (!parameter.is_frozen()) parameters_.push_back(parameter);
}

void WeightAverage::update() {
  const at::NoGradGuard no_grad;
  if (++updates_ == 1) return begin();
  const auto n = static_cast<double>(updates_);
  const double decay = std::min(decay_, (1 + n) / (10 + n));
  for (size_t i = 0; i < averages_.size(); ++i)
    averages_[i].lerp_(parameters_[i].tensor.to(at::kFloat), 1 - decay);
}

std::vector<NamedTensor> WeightAverage::tensors() const {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < averages_.size(); ++i)
    tensors.push_back({parameters_[i].name, averages_[i]});
  return tensors;
}

std::vector<NamedTensor> WeightAverage::restore(int64_t updates) {
  averages_.clear();
  updates_ = updates;
  if (updates_ > 0) begin();
  return tensors();
}

void WeightAverage::begin() {
  for (const Parameter& parameter : parameters_)
    averages_.push_back(parameter.tensor.detach().to(at::kFloat, false, /*copy=*/true));
}

int64_t WeightAverage::bytes() const {
  int64_t bytes = 0;
  for (const Parameter& parameter : parameters_)
    bytes += parameter.tensor.numel() * static_cast<int64_t>(sizeof(float));
  return bytes;
}

WeightAverage::InPlace::InPlace(const WeightAverage& average) : average_(average) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < average_.averages_.size(); ++i) {
    at::Tensor weight = average_.parameters_[i].tensor;
    weights_.push_back(weight.detach().clone());
    weight.copy_(average_.averages_[i]);
  }
}

WeightAverage::InPlace::~InPlace() {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < weights_.size(); ++i) {
    at::Tensor weight = average_.parameters_[i].tensor;
    weight.copy_(weights_[i]);
  }
}

}  // namespace exprun
