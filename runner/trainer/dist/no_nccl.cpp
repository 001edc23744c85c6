#include <stdexcept>

#include "dist/nccl.h"

namespace exprun {

std::unique_ptr<ProcessGroup> nccl_group(Rendezvous&, std::chrono::milliseconds, at::Device) {
  throw std::logic_error("nccl: this program has no GPUs to connect");
}

}  // namespace exprun
