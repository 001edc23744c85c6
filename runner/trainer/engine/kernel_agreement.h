// Which kernels all ranks compute with: what each measured for itself they would choose
// differently, and one that measures must not share the machine with others that compute.
#pragma once

#include "dist/rendezvous.h"
#include "engine/pipeline.h"

namespace exprun {

// On all ranks before the first step. Rank 0 has the choices of the run's earlier life, or measures
// them in a rehearsal of one micro-batch while the others wait, and tells them. Throws Error.
void agree_on_kernels(Rendezvous& rendezvous, const Pipeline& pipeline);

}  // namespace exprun
