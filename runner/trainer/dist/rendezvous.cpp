#include "dist/rendezvous.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "dist/failure.h"

namespace exprun {

namespace {

constexpr std::chrono::seconds kBehindTimeOut{5};  // behind a time-out, of who should notice it

// Which of the commands that a launcher's script gives its ranks one after another: the n-th of
// each meets the n-th of the others.
std::string number_of_command(c10d::Store& life, const RankPlace& place) {
  const std::string commands = "commands/" + std::to_string(place.rank);
  const std::string own = commands + "/" + place.command;
  if (!life.check({own})) {
    const std::string number = std::to_string(life.add(commands, 1));
    life.set(own, std::vector<uint8_t>(number.begin(), number.end()));
  }
  const auto number = life.get(own);
  return {number.begin(), number.end()};
}

// Apart from what other programs keep in a launcher's store, and former lives and commands.
c10::intrusive_ptr<c10d::Store> own_part(c10::intrusive_ptr<c10d::Store> store,
                                         const RankPlace& place) {
  auto life = c10::make_intrusive<c10d::PrefixStore>("exprun/" + std::to_string(place.restarts),
                                                     std::move(store));
  const std::string command = "command/" + number_of_command(*life, place);
  return c10::make_intrusive<c10d::PrefixStore>(command, std::move(life));
}

c10::intrusive_ptr<c10d::Store> meet(const RankPlace& place) {
  c10d::TCPStoreOptions options;
  options.port = place.port;
  options.isServer = place.rank == 0 && !place.store_is_served;
  options.waitWorkers = false;  // it could not be stopped meanwhile
  options.timeout = place.meeting_timeout;
  options.useLibUV = false;  // not every build of LibTorch has it
  if (options.isServer) options.masterListenFd = place.listening_fd;
  c10::intrusive_ptr<c10d::Store> store =
      c10::make_intrusive<c10d::TCPStore>(place.address, options);
  return place.store_is_served ? own_part(std::move(store), place) : store;
}

std::string what_meeting(const RankPlace& place) {
  return "rank " + std::to_string(place.rank) + " of " + std::to_string(place.world_size) +
         " cannot meet the others at " + place.address + ":" + std::to_string(place.port);
}

}  // namespace

Rendezvous::Rendezvous(RankPlace place)
    : place_(std::move(place)),
      store_(dist_call(what_meeting(place_), [this] { return meet(place_); })) {}

Rendezvous::~Rendezvous() = default;

void Rendezvous::set(const std::string& key, const std::string& text) {
  dist_call("cannot tell the other ranks '" + key + "'",
            [&] { store_->set(key, std::vector<uint8_t>(text.begin(), text.end())); });
}

std::string Rendezvous::get(const std::string& key,
                            std::optional<std::chrono::milliseconds> patience) {
  const std::string what = "cannot get '" + key + "' from the other ranks";
  const auto time = patience.value_or(place_.meeting_timeout);
  const auto wait_and_get = [store = store_, key, time] {
    store->wait({key}, time);
    return store->get(key);
  };
  const auto bytes = roll_call_
                         ? roll_call_->while_waiting(what, time + kBehindTimeOut, wait_and_get)
                         : dist_call(what, wait_and_get);
  return {bytes.begin(), bytes.end()};
}

bool Rendezvous::has(const std::string& key) {
  return dist_call("cannot ask for '" + key + "' of the other ranks",
                   [&] { return store_->check({key}); });
}

const std::shared_ptr<RollCall>& Rendezvous::roll_call() {
  if (!roll_call_) roll_call_ = std::make_shared<RollCall>(store_, place_);
  return roll_call_;
}

}  // namespace exprun
