// How far work on bytes is: the progress line of a terminal, and elsewhere a plain line now and
// then, so that a log shows that something moves.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace exprun {

// "preparing: 120 MiB of 1.1 GiB, 180 MiB/s, 5s left"; `all` is 0 where nobody knows it.
std::string byte_progress(const std::string& what, int64_t done, int64_t all, double seconds);

class ByteProgress {
 public:
  ByteProgress(std::string what, int64_t all);
  ~ByteProgress();

  // Costs a look at the clock; call it often.
  void show(int64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  int64_t all_;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

}  // namespace exprun
