// The process group between CPUs.
#pragma once

#include <memory>
#include <string>

#include "dist/failures/peers.h"
#include "dist/process_group.h"
#include "dist/rendezvous.h"

namespace exprun {

// To be called on all ranks of the rendezvous. A collective fails after the time-out. Throws Error
// when a rank does not connect in time.
std::unique_ptr<ProcessGroup> gloo_group(Rendezvous& rendezvous, std::chrono::milliseconds timeout);

// Likewise, over connections of its own. A rank whose process is stopped counts as gone after the
// time-out.
std::unique_ptr<Peers> gloo_peers(Rendezvous& rendezvous, std::chrono::milliseconds timeout);

}  // namespace exprun
