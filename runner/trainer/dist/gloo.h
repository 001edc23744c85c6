// The process group between CPUs.
#pragma once

#include <memory>

#include "dist/process_group.h"
#include "dist/rendezvous.h"

namespace exprun {

// All ranks of the rendezvous at once. Throws Error when one of them does not come in time.
std::unique_ptr<ProcessGroup> gloo_group(Rendezvous& rendezvous);

}  // namespace exprun
