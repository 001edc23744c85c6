// When progress is shown again: often where a terminal's line is rewritten, seldom where each is
// one more line of a log.
#pragma once

#include <chrono>

namespace exprun {

class ProgressThrottle {
 public:
  // `redraw`: the pause on a terminal; elsewhere it is ten seconds.
  explicit ProgressThrottle(std::chrono::milliseconds redraw) : redraw_(redraw) {}

  // Whether the pause has passed; the next one then begins. The first begins with the object. Costs
  // a look at the clock.
  bool is_due();

 private:
  using Clock = std::chrono::steady_clock;

  std::chrono::milliseconds redraw_;
  Clock::time_point shown_ = Clock::now();
};

}  // namespace exprun
