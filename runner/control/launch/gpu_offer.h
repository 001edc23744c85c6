// What this machine has for a run on GPUs, as their driver tells before anything is started.
#pragma once

#include <string>
#include <vector>

#include "base/machine/nvml.h"

namespace exprun {

struct GpuOffer {
  std::vector<Gpu> gpus;  // that this process may use (CUDA_VISIBLE_DEVICES)
  std::string problem;    // why a run cannot have them; empty if it can
  std::string remedy;

  bool is_usable() const { return problem.empty(); }
};

// Looks for the driver, its version, GPUs, and exprun-trainer-cuda beside this program; once.
const GpuOffer& gpu_offer();

}  // namespace exprun
