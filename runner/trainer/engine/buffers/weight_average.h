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

  // Behind the update with this number, from 1, when all new values are there:
  // average += (1 - d)(weight - average) with d = min(decay, (1 + n) / (10 + n)), so that the first
  // weights are soon forgotten. The first update of all begins the average as the weights are.
  void update(int64_t number);

  // By parameter, in fp32: saving reads them, loading writes them. None before the first update.
  std::vector<NamedTensor> tensors() const;
  // Begins the averages as the weights are: loading fills them.
  std::vector<NamedTensor> begin();
  // As before the first update.
  void forget() { averages_.clear(); }
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
  double decay_;
  std::vector<Parameter> parameters_;
  std::vector<at::Tensor> averages_;  // empty before the first update
};

}  // namespace exprun
