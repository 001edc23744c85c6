// The process group between CPUs.
#pragma once

#include <memory>

#include "dist/process_group.h"
#include "dist/rendezvous.h"

namespace exprun {

// All ranks of the rendezvous at once. A collective gives up after the time-out. Throws Error when
// one of them does not come in time.
std::unique_ptr<ProcessGroup> gloo_group(Rendezvous& rendezvous, std::chrono::milliseconds timeout);

}  // namespace exprun
