// An exponential moving average of the weights (Polyak and Juditsky 1992): it evaluates better than
// the weights of any one update, and is what goes out of a run.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/checkpoint/safetensors.h"
#include "engine/parameter.h"

namespace exprun {

class WeightAverage {
 public:
  // Of the parameters that are trained. Each rank has the whole of it.
  WeightAverage(double decay, const std::vector<Parameter>& parameters);

  // After the n-th update of the weights since the average began, once all new values are there:
  // average += (1 - d)(weight - average) with d = min(decay, (1 + n) / (10 + n)), so that the first
  // weights are soon forgotten. The first begins the average as the weights are.
  void update();
  int64_t updates() const { return updates_; }

  // By parameter, in fp32: saving reads them. None before the first update.
  std::vector<NamedTensor> tensors() const;
  // The state after so many updates: tensors that loading fills; none where there were no updates.
  std::vector<NamedTensor> restore(int64_t updates);
  int64_t bytes() const;

  // While it lives the parameters have the averages as their values, if there are any.
  class InPlace {
   public:
    explicit InPlace(const WeightAverage& average);
    ~InPlace();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    const WeightAverage& average_;
    std::vector<at::Tensor> weights_;  // what they were
  };

 private:
  void begin();

  double decay_;
  int64_t updates_ = 0;
  std::vector<Parameter> parameters_;
  std::vector<at::Tensor> averages_;  // empty before the first update
};

}  // namespace exprun
