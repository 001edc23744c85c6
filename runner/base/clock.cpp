#include "base/clock.h"

#include <chrono>

namespace exprun {

int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace exprun
