// This program's wall clock, as if somebody had set the machine's.
#pragma once

#include <chrono>

namespace exprun {

// While it lives, it is earlier by so much. One at a time.
class ClockSetBack {
 public:
  explicit ClockSetBack(std::chrono::seconds by);
  ~ClockSetBack();
  ClockSetBack(const ClockSetBack&) = delete;
  ClockSetBack& operator=(const ClockSetBack&) = delete;
};

}  // namespace exprun
