// Whether the process of the next rank in a ring is there: while CPUs exchange tensors (Gloo),
// where an exchange that was sending to a process that has ended may wait on until its time-out.
// Each process listens for the one before it, accepts nothing and sends nothing; the kernel ends
// the connection when the process ends, and a minute after its machine is lost. A process that is
// stopped, or is busy, keeps it.
#pragma once

#include <optional>

#include "base/machine/network.h"
#include "dist/failures/liveness.h"
#include "dist/rank_place.h"

namespace c10d {
class Store;
}

namespace exprun {

class ProcessRing {
 public:
  // Throws Error where this process cannot listen.
  explicit ProcessRing(const RankPlace& place);

  // To be called some times a second: whether the next process has ended, though not in order. One
  // that was never reached is not taken to have ended. Takes as long as Liveness at times.
  bool next_is_gone(c10d::Store& store);

  // This rank needs the others no more: from here on its process may end.
  void leave(c10d::Store& store);

 private:
  void find_next(c10d::Store& store);

  RankPlace place_;
  int next_;
  ListeningSocket listening_;
  bool is_announced_ = false, was_there_ = false, has_left_ = false;
  std::optional<Liveness> next_process_;
};

}  // namespace exprun
