// The allocations of this program are counted, by thread.
#pragma once

#include <cstdint>

namespace exprun {

// Of the calling thread, since it began.
int64_t allocations();

}  // namespace exprun
