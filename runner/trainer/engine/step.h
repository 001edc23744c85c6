// One update over the global batch. The loss of a micro-batch is a sum over its tokens
// (layers/head.h); backward multiplies it by 1 / valid tokens of the global batch, so that the
// gradients of the micro-batches add up to that of the mean, whatever their number.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "engine/pipeline.h"
#include "engine/precision/precision.h"
#include "engine/record/recorder.h"

namespace exprun {

struct StepResult {
  enum class End {
    completed,
    stopped,   // a stop was requested in between: nothing was updated
    diverged,  // by a DivergenceRule: nothing was updated
  };
  End end = End::completed;
  double loss = 0;       // mean over the valid tokens of the global batch, before the update
  double grad_norm = 0;  // before clipping
  double lr = 0;         // of this update, whether it was made or not, of the first group
  int64_t tokens = 0;    // computed: fewer than the batch's in packed samples
  std::optional<StepTimes> times = std::nullopt;
};

// Where the time of an update goes. Off, it costs nothing and never waits for the device.
class StepTimer {
 public:
  StepTimer(bool on, at::Device device) : on_(on), device_(device) {}

  // The update begins: all times are zero.
  void start();
  // What has passed since the last call belongs to `part`.
  void lap(double StepTimes::*part);
  std::optional<StepTimes> times() const { return on_ ? std::optional(times_) : std::nullopt; }

 private:
  bool on_;
  at::Device device_;
  std::chrono::steady_clock::time_point since_;
  StepTimes times_;
};

class TrainingStep {
 public:
  // `diverged`: whether the update is not to be applied; asked once its gradients are known.
  TrainingStep(
      const Pipeline& pipeline, std::function<bool()> stop_requested,
      std::function<bool(const StepResult&)> diverged = [](const StepResult&) { return false; });

  // The update with index k, from 0, on global batch k + `passed_over`. Throws RecipeError where
  // the first loss is not the expected one.
  StepResult run(int64_t k, int64_t passed_over = 0);

  // With fp16: from a checkpoint, and to one.
  void set_loss_scale(const LossScale& scale) { loss_scale_ = scale; }
  const LossScale& loss_scale() const { return loss_scale_; }
  // Updates that the optimizer's state knows nothing of: its own count begins after them.
  void set_optimizer_start(int64_t updates) { optimizer_start_ = updates; }

 private:
  // By which each group's lr is multiplied in update k.
  double lr_factor(int64_t k) const;
  // Gradients of the mean loss over the global batch.
  StepResult gradients(int64_t k, int64_t first_sample, const Batch& batch, double valid_tokens);
  // Sum of the micro-batch losses (0-dim fp64, on the device) with gradients of their mean
  // accumulated; nothing if stopped.
  std::optional<at::Tensor> accumulate(int64_t k, int64_t first_sample, const Batch& batch,
                                       double valid_tokens);
  void backward(const at::Tensor& loss_sum, double gradient_of_sum);
  void check_initial_loss(double loss) const;
  void clip(double norm);

  const Pipeline& pipeline_;
  std::function<bool()> stop_requested_;
  std::function<bool(const StepResult&)> diverged_;
  bool gradients_checked_ = false;
  LossScale loss_scale_;
  int64_t optimizer_start_ = 0;
  StepTimer timer_;
};

}  // namespace exprun
