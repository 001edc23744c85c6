#include "base/terminal/progress_throttle.h"

#include "base/log.h"

namespace exprun {
namespace {

constexpr std::chrono::milliseconds kPauseInLog{10'000};

}  // namespace

bool ProgressThrottle::is_due() {
  const auto now = Clock::now();
  if (now - shown_ < (has_progress_line() ? redraw_ : kPauseInLog)) return false;
  shown_ = now;
  return true;
}

}  // namespace exprun
