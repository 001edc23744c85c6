// How many cores a rank computes on beside the others of its run.
#pragma once

#include "base/machine/cores.h"
#include "dist/rendezvous.h"

namespace exprun {

struct CoreShare {
  int cores = 1;     // of this rank
  int machines = 1;  // of all ranks
};

// So many for each rank of a host that no core has two of them, at least 1: what the host's ranks
// may use together, divided by them, but no more than this rank's own. All ranks call it once.
// Throws Error.
CoreShare share_of_cores(Rendezvous& rendezvous, const Cores& own = own_cores());

}  // namespace exprun
