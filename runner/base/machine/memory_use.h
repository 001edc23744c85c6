// The memory that this process has now, at most had, and could have, as the kernel counts it.
#pragma once

#include <filesystem>

namespace exprun {

struct MemoryUse {
  double bytes = 0;          // resident
  double peak_bytes = 0;     // resident, since the process began
  double machine_bytes = 0;  // of the machine, or of the container where that has less
};

// Zeros for what cannot be read. About 30 microseconds.
MemoryUse memory_use(const std::filesystem::path& control_group = "/sys/fs/cgroup");

}  // namespace exprun
