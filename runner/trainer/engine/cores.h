// How many cores a process may compute on, alone and beside the other ranks of its run.
#pragma once

#include <limits>
#include <set>
#include <string>

#include "dist/rendezvous.h"

namespace exprun {

// What a process may use. Hyper-threads of one core are one name.
struct Cores {
  std::string host;
  std::set<std::string> names;
  int limit = std::numeric_limits<int>::max();  // of the control group: so many at a time

  int count() const;  // at least 1
};

// Of this process, as its affinity says: a launcher may have given each rank its own.
Cores own_cores();

// So many for each rank of a host that no core has two of them, at least 1: what the host's ranks
// may use together, divided by them, but no more than this rank's own. All ranks call it once.
// Throws Error.
int share_of_cores(Rendezvous& rendezvous, const Cores& own = own_cores());

}  // namespace exprun
