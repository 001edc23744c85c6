// Memory of a CPU's tensors: that of large ones is kept for the next (block_cache.h).
#pragma once

namespace exprun {

// Once, before the first tensor. Without it, the others do nothing.
void keep_cpu_memory();

// A step has ended: what the last ones did not use goes back to the system.
void end_round_of_cpu_memory();

// Other work begins, which needs other sizes: all that is not in use goes back.
void give_back_idle_cpu_memory();

}  // namespace exprun
