#include "dist/gloo.h"

// LibTorch's wheel has Gloo inside but not its headers: CMake makes files with their names, which
// hold dist/gloo_declarations.h.
#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "dist/backend_group.h"
#include "dist/failure.h"
#include "dist/own_address.h"
#include "dist/roll_call.h"

namespace exprun {

namespace {

// GLOO_SOCKET_IFNAME names an interface; otherwise the one through which rank 0 is reached.
std::shared_ptr<gloo::transport::Device> device(const std::string& address) {
  using Gloo = c10d::ProcessGroupGloo;
  const char* const interface = std::getenv("GLOO_SOCKET_IFNAME");
  return interface ? Gloo::createDeviceForInterface(interface)
                   : Gloo::createDeviceForHostname(own_address_towards(address));
}

c10::intrusive_ptr<c10d::Backend> connect(Rendezvous& rendezvous,
                                          std::chrono::milliseconds timeout) {
  const RankPlace& place = rendezvous.place();
  auto options = c10d::ProcessGroupGloo::Options::create(timeout);
  options->devices.push_back(device(place.address));
  return c10::make_intrusive<c10d::ProcessGroupGloo>(rendezvous.store(), place.rank,
                                                     place.world_size, options);
}

}  // namespace

std::unique_ptr<ProcessGroup> gloo_group(Rendezvous& rendezvous,
                                         std::chrono::milliseconds timeout) {
  return dist_call(
      "rank " + std::to_string(rendezvous.place().rank) + " cannot connect to the others", [&] {
        return group_over(connect(rendezvous, timeout),
                          [store = rendezvous.store(), place = rendezvous.place()] {
                            return roll_call(store, place);
                          });
      });
}

}  // namespace exprun
