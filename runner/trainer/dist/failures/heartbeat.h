// Whether the other ranks live, by signs at the rendezvous: while they prepare, before any tensor
// is exchanged. After that their connections tell it sooner: process_ring.h between CPUs, peers.h
// between GPUs.
#pragma once

#include <cstdint>

#include "dist/rank_place.h"

namespace c10d {
class Store;
}

namespace exprun {

// Each rank has one; the ranks watch each other in a ring.
class Heartbeat {
 public:
  explicit Heartbeat(const RankPlace& place);

  // To be called some times a second: sends a heartbeat, and returns whether the next rank has sent
  // none for too many calls. Calls are counted, not time, as all ranks may be paused.
  bool next_is_silent(c10d::Store& store);

  // This rank neither sends nor needs heartbeats any more.
  void end(c10d::Store& store);

 private:
  int rank_, next_;
  int64_t last_ = -1;  // heartbeat of the next rank
  int in_vain_ = 0;    // calls since
  bool ended_ = false;
};

}  // namespace exprun
