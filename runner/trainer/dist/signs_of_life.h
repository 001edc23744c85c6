// That ranks live while they still prepare: until they exchange tensors, no connection between
// them ends with one that is gone.
#pragma once

#include <cstdint>

#include "dist/rank_place.h"

namespace c10d {
class Store;
}

namespace exprun {

// One a rank, at the rendezvous; the ranks watch each other in a ring.
class SignsOfLife {
 public:
  explicit SignsOfLife(const RankPlace& place);

  // To be called some times a second: gives one, and returns whether the next rank has given none
  // for too many looks. Looks are counted, not time, as all ranks may be paused.
  bool next_is_silent(c10d::Store& store);

  // This rank needs no more of them, nor gives any.
  void end(c10d::Store& store);

 private:
  int rank_, next_;
  int64_t last_ = -1;  // sign of the next rank
  int in_vain_ = 0;    // looks since
  bool ended_ = false;
};

}  // namespace exprun
