// Threads for ranks: each has a process group of its own, as a process would.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "base/machine/network.h"
#include "dist/process_group.h"
#include "dist/rendezvous.h"

namespace exprun {

// How long a rank waits for the others in one exchange: only a fault lets it pass, however slow and
// busy the machine.
inline constexpr std::chrono::minutes kRankPatience{5};

// A place whose ranks meet at the socket.
RankPlace place_of(int rank, int world_size, const ListeningSocket& listening);

// The same where an external launcher serves the store at the socket.
RankPlace served_place(int rank, int world_size, const ListeningSocket& listening);

using OfRank = std::function<void(const std::shared_ptr<ProcessGroup>&, Rendezvous&)>;

// Runs it on every rank, and returns when all have ended. It must not throw.
void on_ranks(int world_size, const OfRank& of_rank);

// What each rank returns, to be judged when all have ended.
template <class Value>
std::vector<Value> from_ranks(
    int world_size, const std::function<Value(const std::shared_ptr<ProcessGroup>&)>& of_rank) {
  std::vector<Value> values(static_cast<size_t>(world_size));
  on_ranks(world_size, [&](const std::shared_ptr<ProcessGroup>& group, Rendezvous&) {
    values[static_cast<size_t>(group->rank())] = of_rank(group);
  });
  return values;
}

}  // namespace exprun
