// What this process, its machine and its GPUs use: the series system/... of a run.
//
//   system/process_cpu_percent       processor's time since the reading before; 100 is one core
//   system/process_memory_bytes      resident
//   system/load                      processes that run or want to, averaged over a minute
//   system/memory_available_bytes    of the machine, without swapping
//   system/disk_free_bytes           where the run's folder lies
//   system/gpuN/...                  of each GPU that the process may use, by NVML's number:
//     utilisation_percent, memory_bytes, power_watts, sm_clock_mhz, memory_clock_mhz,
//     temperature_celsius, throttle_reasons (nvml.h has their meaning)
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/nvml.h"

namespace exprun {

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

// Which of the GPUs a process may use: those of CUDA_VISIBLE_DEVICES, `list` (indices, or
// beginnings of uuids; null: not set, all).
std::vector<size_t> visible_gpus(const std::vector<Gpu>& gpus, const char* list);

}  // namespace exprun
