#include "engine/attempt/parting.h"

#include <chrono>
#include <string>
#include <thread>

namespace exprun {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kReleased = "released";
constexpr std::chrono::milliseconds kLookForLeavers{10};
constexpr std::chrono::seconds kLeaving{5};
constexpr std::chrono::hours kSaving{24};  // rank 0's launcher notices if it is gone

std::string leaves_key(int rank) {
  return "leaves/" + std::to_string(rank);
}

}  // namespace

void release_others(Rendezvous& rendezvous) {
  rendezvous.set(kReleased, "");
  const auto late = Clock::now() + kLeaving;
  for (int rank = 1; rank < rendezvous.place().world_size; ++rank)
    while (!rendezvous.has(leaves_key(rank)) && Clock::now() < late)
      std::this_thread::sleep_for(kLookForLeavers);
}

void await_release(Rendezvous& rendezvous) {
  rendezvous.get(kReleased, kSaving);
  rendezvous.set(leaves_key(rendezvous.place().rank), "");
}

}  // namespace exprun
