#include "base/diagnostic.h"
#include "engine/device/gpu.h"

namespace exprun {

std::vector<GpuFacts> usable_gpus() {
  throw Error(
      "gpu: this exprun-trainer is built without CUDA; tools/exprun builds exprun-trainer-cuda, "
      "which exprun starts on machines with GPUs");
}

std::string cuda_version() {
  return "";
}

}  // namespace exprun
