#include "control/launch/gpu_offer.h"

#include <cstdlib>

#include "base/machine/visible_gpus.h"
#include "control/launch/trainer_program.h"

namespace exprun {
namespace {

constexpr const char* kOnCpu = "run.device=cpu trains on the CPU";

std::string visible_list() {
  const char* const list = std::getenv("CUDA_VISIBLE_DEVICES");
  return list ? std::string(" (CUDA_VISIBLE_DEVICES is '") + list + "')" : "";
}

// A driver runs the programs of its own major version of CUDA, and of all before.
bool runs(const std::string& driver_cuda, const std::string& needed) {
  return std::atoi(driver_cuda.c_str()) >= std::atoi(needed.c_str());
}

GpuOffer refused(std::vector<Gpu> gpus, std::string problem, std::string remedy) {
  return {std::move(gpus), std::move(problem), std::move(remedy)};
}

GpuOffer look() {
  const auto nvml = Nvml::open();
  if (!nvml) return refused({}, "this machine has no NVIDIA driver", kOnCpu);
  std::vector<Gpu> gpus;
  for (const size_t i : visible_gpus(nvml->gpus(), std::getenv("CUDA_VISIBLE_DEVICES")))
    gpus.push_back(nvml->gpus()[i]);
  if (gpus.empty())
    return refused({}, "there is no GPU that this process may use" + visible_list(), kOnCpu);
  const std::string driver_cuda = nvml->cuda_version();
  if (!runs(driver_cuda, needed_cuda()))
    return refused(std::move(gpus),
                   "the NVIDIA driver " + nvml->driver_version() + " runs CUDA up to " +
                       driver_cuda + ", exprun-trainer-cuda needs " + needed_cuda(),
                   std::string("install a newer driver; ") + kOnCpu);
  if (!has_cuda_trainer())
    return refused(std::move(gpus), "exprun-trainer-cuda is not there",
                   std::string("tools/exprun builds it, beside exprun; ") + kOnCpu);
  return {std::move(gpus), "", ""};
}

}  // namespace

// The driver takes its time to answer.
const GpuOffer& gpu_offer() {
  static const GpuOffer offer = look();
  return offer;
}

}  // namespace exprun
