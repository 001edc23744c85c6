#include "base/clock.h"

#include <atomic>
#include <chrono>

namespace exprun {
namespace {

std::atomic<int64_t> shift{0};

}  // namespace

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count() + shift;
}

void shift_clock(int64_t ms) {
  shift = ms;
}

}  // namespace exprun
