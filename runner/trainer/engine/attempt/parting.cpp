#include "engine/attempt/parting.h"

#include <string>
#include <thread>

#include "base/diagnostic.h"
#include "base/log.h"

namespace exprun {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kReleased = "released";
constexpr std::chrono::milliseconds kLookForLeavers{10};
constexpr std::chrono::seconds kLeaving{5};
constexpr std::chrono::hours kSaving{24};

std::string leaves_key(int rank) {
  return "leaves/" + std::to_string(rank);
}

bool leaves_before(Clock::time_point late, int rank, Rendezvous& rendezvous) {
  while (!rendezvous.has(leaves_key(rank))) {
    if (Clock::now() > late) return false;
    std::this_thread::sleep_for(kLookForLeavers);
  }
  return true;
}

}  // namespace

void release_others(Rendezvous& rendezvous) try {
  rendezvous.set(kReleased, "");
  const auto late = Clock::now() + kLeaving;
  for (int rank = 1; rank < rendezvous.place().world_size; ++rank)
    if (!leaves_before(late, rank, rendezvous))
      log_warning("dist: rank " + std::to_string(rank) +
                  " does not say that it leaves: it hangs, or is gone; the run is saved");
} catch (const Error& error) {
  log_warning(std::string(error.what()) + "; the run is saved");
}

void await_release(Rendezvous& rendezvous, std::chrono::milliseconds silence) {
  rendezvous.roll_call()->all_part(silence);
  rendezvous.get(kReleased, kSaving);
  rendezvous.set(leaves_key(rendezvous.place().rank), "");
}

}  // namespace exprun
