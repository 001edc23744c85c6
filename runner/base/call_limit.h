// A time limit for system calls that have none of their own, as a wait for a file lock: once it is
// over, they fail with EINTR in the thread that made the limit.
#pragma once

#include <time.h>

#include <chrono>

namespace exprun {

class CallLimit {
 public:
  // From now. Throws Error when the system has no timer left.
  explicit CallLimit(std::chrono::milliseconds patience);
  ~CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

  // Other signals interrupt calls too.
  bool is_over() const { return std::chrono::steady_clock::now() >= end_; }

 private:
  std::chrono::steady_clock::time_point end_;
  timer_t timer_{};
};

}  // namespace exprun
