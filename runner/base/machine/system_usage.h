// What this process, its machine and its GPUs use: the series system/... of a run. Their names and
// units: store/FORMAT.md.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/machine/nvml.h"

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

}  // namespace exprun
