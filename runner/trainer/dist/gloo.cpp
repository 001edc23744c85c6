#include "dist/gloo.h"

#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "base/diagnostic.h"
#include "base/machine/network.h"
#include "dist/backend_group.h"
#include "dist/failures/failure.h"

// LibTorch's wheel has Gloo inside but not its headers: CMake makes files with their names, which
// hold dist/gloo_declarations.h.

namespace exprun {

namespace {

using Device = std::shared_ptr<gloo::transport::Device>;

std::string what_connecting(const RankPlace& place) {
  return "rank " + std::to_string(place.rank) + " cannot connect to the other ranks";
}

std::string address_key(int rank) {
  return "address/" + std::to_string(rank);
}

// Rank 0's machine may have its own name at a loopback address (Debian's 127.0.1.1): its ranks take
// the address that leads to a rank of another machine, if there is one.
std::string own_address(Rendezvous& rendezvous) {
  const RankPlace& place = rendezvous.place();
  const std::string towards_rank_0 = own_address_towards(place.address);
  rendezvous.set(address_key(place.rank), towards_rank_0);
  if (leads_elsewhere(towards_rank_0)) return towards_rank_0;
  for (int rank = 0; rank < place.world_size; ++rank) {
    const std::string other = rendezvous.get(address_key(rank));
    if (leads_elsewhere(other)) return own_address_towards(other);
  }
  return towards_rank_0;
}

// GLOO_SOCKET_IFNAME names an interface; otherwise the one through which others are reached.
Device device(Rendezvous& rendezvous) {
  using Gloo = c10d::ProcessGroupGloo;
  const char* const interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (!interface) return Gloo::createDeviceForHostname(own_address(rendezvous));
  rendezvous.set(address_key(rendezvous.place().rank), "");  // others may be waiting for it
  return Gloo::createDeviceForInterface(interface);
}

// Connections of their own, with what `name` tells them from others' by. Gloo waits for a rank that
// is gone until the time-out: its thread is left behind.
c10::intrusive_ptr<c10d::Backend> connect(Rendezvous& rendezvous, const std::string& name,
                                          const Device& device, std::chrono::milliseconds timeout) {
  const RankPlace place = rendezvous.place();
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(device);
  const auto store = c10::make_intrusive<c10d::PrefixStore>(name, rendezvous.store());
  return rendezvous.membership()->while_waiting(
      what_connecting(place), timeout + std::chrono::seconds(5),
      [store, options, place]() -> c10::intrusive_ptr<c10d::Backend> {
        return c10::make_intrusive<c10d::ProcessGroupGloo>(store, place.rank, place.world_size,
                                                           options);
      });
}

}  // namespace

std::unique_ptr<ProcessGroup> gloo_group(Rendezvous& rendezvous,
                                         std::chrono::milliseconds timeout) {
  return dist_call(what_connecting(rendezvous.place()), [&] {
    const Device own = device(rendezvous);
    return group_over({.backend = connect(rendezvous, "tensors", own, timeout),
                       .numbers = connect(rendezvous, "numbers", own, timeout),
                       .membership = rendezvous.membership(),
                       .sums = Sums::in_order_of_ranks});
  });
}

std::unique_ptr<Peers> gloo_peers(Rendezvous& rendezvous, std::chrono::milliseconds timeout) {
  return dist_call(what_connecting(rendezvous.place()), [&] {
    return std::make_unique<Peers>(connect(rendezvous, "peers", device(rendezvous), timeout));
  });
}

}  // namespace exprun
