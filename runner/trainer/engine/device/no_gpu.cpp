#include "base/diagnostic.h"
#include "engine/device/gpu.h"

namespace exprun {

std::vector<GpuFacts> usable_gpus() {
  throw Error(
      "gpu: this exprun-trainer has no CUDA in it; tools/exprun builds exprun-trainer-cuda, which "
      "exprun starts where there are GPUs");
}

std::string cuda_version() {
  return "";
}

}  // namespace exprun
