// One update over the global batch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/pipeline.h"

namespace exprun {

struct StepResult {
  enum class End {
    completed,
    stopped,   // a stop was requested in between: nothing was updated
    diverged,  // loss or gradient norm is not finite: nothing was updated
  };
  End end = End::completed;
  double loss = 0;       // mean over the valid tokens of the global batch, before the update
  double grad_norm = 0;  // before clipping
  double lr = 0;         // used by this update
};

class TrainingStep {
 public:
  TrainingStep(const Pipeline& pipeline, std::function<bool()> stop_requested);

  // The update with index k, from 0.
  StepResult run(int64_t k);

 private:
  // Sum of the micro-batch losses with gradients of their mean accumulated; nothing if stopped.
  std::optional<double> accumulate(int64_t k, const Batch& batch, double valid_tokens);
  void backward(const at::Tensor& loss_sum, double valid_tokens);
  void clip(double norm);

  const Pipeline& pipeline_;
  std::function<bool()> stop_requested_;
  bool gradients_checked_ = false;
};

}  // namespace exprun
