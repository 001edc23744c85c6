// The process group between GPUs: nccl.cpp is in exprun-trainer-cuda, no_nccl.cpp in
// exprun-trainer.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "dist/process_group.h"
#include "dist/rendezvous.h"

namespace exprun {

// All ranks of the rendezvous at once, each with a GPU of its own, which must be the current
// device. A collective gives up after the time-out. Throws Error when one of them does not come in
// time.
std::unique_ptr<ProcessGroup> nccl_group(Rendezvous& rendezvous, std::chrono::milliseconds timeout,
                                         at::Device device);

}  // namespace exprun
