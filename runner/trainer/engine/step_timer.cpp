#include "engine/step_timer.h"

namespace exprun {

using Clock = std::chrono::steady_clock;

void StepTimer::start() {
  times_ = {};
  if (on_) since_ = Clock::now();
}

// On a CPU there is nothing to wait for: every operator has ended when it returns.
void StepTimer::lap(double StepTimes::*part) {
  if (!on_) return;
  const auto now = Clock::now();
  times_.*part += std::chrono::duration<double, std::milli>(now - since_).count();
  since_ = now;
}

}  // namespace exprun
