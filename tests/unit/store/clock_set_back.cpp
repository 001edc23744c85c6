#include "tests/unit/store/clock_set_back.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace {

std::atomic<time_t> set_back{0};

}  // namespace

// In place of the C library's, for the whole program: std::chrono asks this one.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec -= set_back;
  return static_cast<int>(result);
}

namespace exprun {

ClockSetBack::ClockSetBack(std::chrono::seconds by) {
  set_back = by.count();
}

ClockSetBack::~ClockSetBack() {
  set_back = 0;
}

}  // namespace exprun
