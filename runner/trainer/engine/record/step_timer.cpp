#include "engine/record/step_timer.h"

#include "engine/device/device.h"

namespace exprun {

using Clock = std::chrono::steady_clock;

void StepTimer::start() {
  times_ = {};
  if (on_) since_ = Clock::now();
}

void StepTimer::lap(double StepTimes::*part) {
  if (!on_) return;
  await(device_);
  const auto now = Clock::now();
  times_.*part += std::chrono::duration<double, std::milli>(now - since_).count();
  since_ = now;
}

}  // namespace exprun
