// The process group between CPUs.
#pragma once

#include <memory>
#include <string>

#include "dist/peers.h"
#include "dist/process_group.h"
#include "dist/rendezvous.h"

namespace exprun {

// All ranks of the rendezvous at once. A collective gives up after the time-out. Throws Error when
// one of them does not come in time.
std::unique_ptr<ProcessGroup> gloo_group(Rendezvous& rendezvous, std::chrono::milliseconds timeout);

// The same ranks, once more. A rank whose process is stopped is gone after the time-out.
std::unique_ptr<Peers> gloo_peers(Rendezvous& rendezvous, std::chrono::milliseconds timeout);

}  // namespace exprun
