#include "engine/device/gpu.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#include "base/diagnostic.h"

namespace exprun {
namespace {

// 13000 -> "13.0"
std::string text_of(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

std::string old_driver() {
  if (driver_version() == 0)
    return "this machine has no NVIDIA driver; install one, or train with run.device=cpu";
  return "the NVIDIA driver supports CUDA up to " + text_of(driver_version()) +
         ", but this program needs " + cuda_version() +
         "; install a newer driver, or train with run.device=cpu";
}

std::string why_none(cudaError_t error) {
  if (error == cudaErrorInsufficientDriver) return old_driver();
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string otherwise = "; train with run.device=cpu, or check the output of nvidia-smi";
  if (error == cudaSuccess || error == cudaErrorNoDevice)
    return std::string("there is no GPU that this process can use") +
           (visible ? std::string(" (CUDA_VISIBLE_DEVICES is '") + visible + "')" : "") + otherwise;
  return std::string("CUDA reports: ") + cudaGetErrorString(error) + otherwise;
}

std::string uuid_of(const cudaDeviceProp& properties) {
  std::string text = "GPU";
  for (size_t i = 0; i < sizeof properties.uuid.bytes; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", properties.uuid.bytes[i] & 0xff);
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

}  // namespace

std::vector<GpuFacts> usable_gpus() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) throw Error("gpu: " + why_none(error));
  std::vector<GpuFacts> gpus;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (const cudaError_t asked = cudaGetDeviceProperties(&properties, i); asked != cudaSuccess)
      throw Error("gpu: GPU " + std::to_string(i) + " does not respond: " + why_none(asked));
    gpus.push_back({properties.name, uuid_of(properties),
                    static_cast<int64_t>(properties.totalGlobalMem),
                    10 * properties.major + properties.minor});
  }
  return gpus;
}

std::string cuda_version() {
  int version = 0;
  cudaRuntimeGetVersion(&version);
  return text_of(version);
}

}  // namespace exprun
