// The process group between GPUs: nccl.cpp is in exprun-trainer-cuda, no_nccl.cpp in
// exprun-trainer.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "dist/process_group.h"
#include "dist/rendezvous.h"

namespace exprun {

// To be called on all ranks of the rendezvous, each with a GPU of its own, which must be the
// current device. A collective fails after the time-out. Throws Error when a rank does not connect
// in time.
std::unique_ptr<ProcessGroup> nccl_group(Rendezvous& rendezvous, std::chrono::milliseconds timeout,
                                         at::Device device);

}  // namespace exprun
