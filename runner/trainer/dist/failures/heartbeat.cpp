#include "dist/failures/heartbeat.h"

#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace exprun {
namespace {

constexpr int kTooMany = 24;  // calls in vain: six seconds

constexpr int64_t kLast = int64_t{1} << 40;  // what the last heartbeat adds to their count

std::string key_of(int rank) {
  return "heartbeat/" + std::to_string(rank);
}

}  // namespace

Heartbeat::Heartbeat(const RankPlace& place)
    : rank_(place.rank), next_((place.rank + 1) % place.world_size) {}

bool Heartbeat::next_is_silent(c10d::Store& store) {
  store.add(key_of(rank_), 1);
  const int64_t beat = store.add(key_of(next_), 0);
  in_vain_ = beat == last_ && beat < kLast ? in_vain_ + 1 : 0;
  last_ = beat;
  return in_vain_ >= kTooMany;
}

void Heartbeat::end(c10d::Store& store) {
  if (!ended_) store.add(key_of(rank_), kLast);
  ended_ = true;
}

}  // namespace exprun
