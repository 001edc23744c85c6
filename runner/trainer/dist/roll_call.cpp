#include "dist/roll_call.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace exprun {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience{2000};

std::string key_of(int rank) {
  return "answers/" + std::to_string(rank);
}

bool answers(c10d::Store& store, int rank, Clock::time_point late) {
  try {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(late - Clock::now());
    store.wait({key_of(rank)}, std::max(left, std::chrono::milliseconds(10)));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

// If not even this rank's own word comes back, it is rank 0 that is silent, who serves the store.
std::vector<int> silent_ranks(c10d::Store& store, const RankPlace& place) {
  const auto late = Clock::now() + kPatience;
  std::vector<int> silent;
  try {
    store.set(key_of(place.rank), std::vector<uint8_t>{1});
  } catch (const std::exception&) {
    return {0};
  }
  for (int rank = 0; rank < place.world_size; ++rank)
    if (!answers(store, rank, late)) silent.push_back(rank);
  if (std::count(silent.begin(), silent.end(), place.rank)) return {0};
  return silent;
}

std::string sentence(const std::vector<int>& silent) {
  if (silent.empty()) return "";
  std::string names = silent.size() == 1 ? "; rank " : "; ranks ";
  for (size_t i = 0; i < silent.size(); ++i) names += (i ? ", " : "") + std::to_string(silent[i]);
  return names + (silent.size() == 1 ? " does not answer: it hangs, or is gone"
                                     : " do not answer: they hang, or are gone");
}

}  // namespace

// In a thread of its own: one that hangs with the store's server must not hold this rank.
std::string roll_call(const c10::intrusive_ptr<c10d::Store>& store, const RankPlace& place) {
  std::promise<std::vector<int>> promise;
  auto silent = promise.get_future();
  std::thread([store, place, promise = std::move(promise)]() mutable {
    promise.set_value(silent_ranks(*store, place));
  }).detach();
  const bool done =
      silent.wait_for(kPatience + std::chrono::seconds(1)) == std::future_status::ready;
  return sentence(done ? silent.get() : std::vector<int>{0});
}

}  // namespace exprun
