// Wall-clock time of rows: Unix milliseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace exprun {

inline int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace exprun
