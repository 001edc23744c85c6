// The memory that this process has now, at most had, and could have, as the kernel counts it.
#pragma once

namespace exprun {

struct MemoryUse {
  double bytes = 0;          // resident
  double peak_bytes = 0;     // resident, since the process began
  double machine_bytes = 0;  // of the machine
};

// Zeros for what cannot be read. About 20 microseconds.
MemoryUse memory_use();

}  // namespace exprun
