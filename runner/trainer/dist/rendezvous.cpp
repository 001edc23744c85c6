#include "dist/rendezvous.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "dist/failures/failure.h"

namespace exprun {
namespace {

constexpr std::chrono::seconds kAfterTimeOut{5};  // for the call that should time out by itself

// Long enough for a rank 0 that is there: ranks that wait for one look first (Liveness).
constexpr std::chrono::seconds kConnecting{10};

// Apart from what other programs keep in a launcher's store.
constexpr const char* kRounds = "exprun/rounds";

c10::intrusive_ptr<c10d::Store> part_of_round(const c10::intrusive_ptr<c10d::Store>& launchers,
                                              int64_t round) {
  return c10::make_intrusive<c10d::PrefixStore>("exprun/round/" + std::to_string(round), launchers);
}

c10::intrusive_ptr<c10d::Store> open_store(const RankPlace& place) {
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.rank == 0 && !place.store_is_served;
  options.waitWorkers = false;    // it could not be stopped meanwhile
  options.timeout = kConnecting;  // it tries again at ever longer intervals
  options.useLibUV = false;       // not every build of LibTorch has it
  if (options.isServer) options.masterListenFd = place.listening_fd;
  auto store = c10::make_intrusive<c10d::TCPStore>(place.address, options);
  store->setTimeout(place.handshake_timeout);
  return store;
}

std::string what_joining(const RankPlace& place) {
  return "rank " + std::to_string(place.rank) + " of " + std::to_string(place.world_size) +
         " cannot meet the other ranks at " + place.address + ":" + std::to_string(place.port);
}

}  // namespace

Rendezvous::Rendezvous(RankPlace place)
    : place_(std::move(place)),
      store_(dist_call(what_joining(place_), [this] { return open_store(place_); })) {
  if (!place_.store_is_served) return;
  launchers_store_ = store_;
  if (place_.rank > 0) return;
  dist_call(what_joining(place_), [this] { enter(launchers_store_->add(kRounds, 1)); });
}

Rendezvous::~Rendezvous() = default;

void Rendezvous::set(const std::string& key, const std::string& text) {
  dist_call("cannot send '" + key + "' to the other ranks",
            [&] { store_->set(key, std::vector<uint8_t>(text.begin(), text.end())); });
}

std::string Rendezvous::get(const std::string& key,
                            std::optional<std::chrono::milliseconds> patience) {
  const std::string what = "cannot get '" + key + "' from the other ranks";
  const auto time = patience.value_or(place_.handshake_timeout);
  const auto wait_and_get = [store = store_, key, time] {
    store->wait({key}, time);
    return store->get(key);
  };
  const auto bytes = membership_
                         ? membership_->while_waiting(what, time + kAfterTimeOut, wait_and_get)
                         : dist_call(what, wait_and_get);
  return {bytes.begin(), bytes.end()};
}

bool Rendezvous::has(const std::string& key) {
  return dist_call("cannot look up '" + key + "' at the rendezvous",
                   [&] { return store_->check({key}); });
}

void Rendezvous::forget(const std::string& key) {
  dist_call("cannot remove '" + key + "' from the rendezvous",
            [&] { return store_->deleteKey(key); });
}

int64_t Rendezvous::newest_round() {
  return dist_call("cannot look up rank 0", [this] { return launchers_store_->add(kRounds, 0); });
}

bool Rendezvous::is_newest_round() {
  return !launchers_store_ || newest_round() == round_;
}

bool Rendezvous::enter_newest_round() {
  const int64_t newest = newest_round();
  if (newest > round_) enter(newest);
  return newest > 0;
}

void Rendezvous::enter(int64_t round) {
  round_ = round;
  store_ = part_of_round(launchers_store_, round);
}

const std::shared_ptr<Membership>& Rendezvous::membership() {
  if (!membership_) membership_ = std::make_shared<Membership>(store_, place_);
  return membership_;
}

}  // namespace exprun
