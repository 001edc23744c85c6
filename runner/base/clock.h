// Wall-clock time of rows: Unix milliseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace exprun {

inline int64_t now_ms() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count();
}

}  // namespace exprun
