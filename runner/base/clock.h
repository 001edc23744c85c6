// Wall-clock time of rows: Unix milliseconds.
#pragma once

#include <cstdint>

namespace exprun {

int64_t now_ms();

// For tests: as if the machine's clock had been set by this much, forwards or backwards.
void shift_clock(int64_t ms);

}  // namespace exprun
