// Wall-clock time of rows: Unix milliseconds.
#pragma once

#include <cstdint>

namespace exprun {

int64_t now_ms();

}  // namespace exprun
