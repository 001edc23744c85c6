// How far work on bytes is: the progress line of a terminal, and elsewhere a plain line now and
// then, so that a log shows that something moves.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/terminal/progress_line.h"

namespace exprun {

// "preparing: 120 MiB of 1.1 GiB, 180 MiB/s, ETA 5 s"; `all` is 0 where nobody knows it. What was
// done `before` counts for no rate.
std::string byte_progress(const std::string& what, int64_t done, int64_t all, double seconds,
                          int64_t before = 0);

class ByteProgress {
 public:
  ByteProgress(std::string what, int64_t all);
  ~ByteProgress();

  // There is more of it, or less.
  void expect(int64_t all) { all_ = all; }
  // What was done before: from here on the rate counts.
  void begin_at(int64_t done);
  // Costs a look at the clock; call it often.
  void show(int64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  int64_t all_, before_ = 0;
  Clock::time_point start_ = Clock::now();
  ProgressThrottle throttle_;
};

}  // namespace exprun
