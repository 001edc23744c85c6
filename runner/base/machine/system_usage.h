// What this process, its machine and its GPUs use.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/machine/gpus.h"

namespace exprun {

// The memory of this process, as the kernel counts it.
struct MemoryUse {
  double bytes = 0;          // resident
  double peak_bytes = 0;     // resident, since the process began
  double machine_bytes = 0;  // of the machine, or of the container where that has less
};

// Zeros for what cannot be read. About 30 microseconds.
MemoryUse memory_use(const std::filesystem::path& control_group = "/sys/fs/cgroup");

// The series system/... of a run. Their names and units: store/FORMAT.md.
class SystemUsage {
 public:
  // `folder`: whose file system is watched.
  explicit SystemUsage(std::filesystem::path folder);

  // Names and values, now. What cannot be known is left out, as is process_cpu_percent at first.
  std::vector<std::pair<std::string, double>> read();

 private:
  std::filesystem::path folder_;
  std::unique_ptr<Nvml> nvml_;
  std::vector<size_t> visible_gpus_;
  struct Processor {
    std::chrono::steady_clock::time_point when;
    double seconds = 0;  // of the process, until then
  };
  std::optional<Processor> last_;
};

}  // namespace exprun
