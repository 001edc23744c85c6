// Where the time of an update goes. Off, it costs nothing and never waits for the device.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <optional>

#include "engine/record/recorder.h"

namespace exprun {

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

}  // namespace exprun
