// Which kernels all ranks compute with: what each measured for itself they would choose
// differently, and one that measures must not share the machine with others that compute.
#pragma once

#include "dist/rendezvous.h"
#include "engine/pipeline.h"

namespace exprun {

// On all ranks before the first step. Rank 0 rehearses one micro-batch while the others wait, where
// it measures what the run's earlier life has not chosen (it had perhaps other ranks, and so other
// shapes), and tells them all choices. On GPUs there is nothing to measure. Throws Error.
void agree_on_kernels(Rendezvous& rendezvous, const Pipeline& pipeline);

}  // namespace exprun
