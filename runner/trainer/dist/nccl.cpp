#include "dist/nccl.h"

#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "dist/backend_group.h"
#include "dist/failure.h"
#include "dist/roll_call.h"

namespace exprun {

namespace {

using Nccl = c10d::ProcessGroupNCCL;

c10::intrusive_ptr<Nccl> connect(Rendezvous& rendezvous, std::chrono::milliseconds timeout,
                                 at::Device device) {
  // A failure is then an exception where its result is awaited; otherwise a thread of LibTorch's
  // ends the process, and nobody says why.
  ::setenv("TORCH_NCCL_BLOCKING_WAIT", "1", 0);
  const RankPlace& place = rendezvous.place();
  auto options = Nccl::Options::create(/*is_high_priority_stream=*/true);
  options->timeout = timeout;
  auto nccl =
      c10::make_intrusive<Nccl>(c10::make_intrusive<c10d::PrefixStore>("nccl", rendezvous.store()),
                                place.rank, place.world_size, options);
  nccl->setBoundDeviceId(device);
  nccl->eagerConnectSingleDevice(device);
  return nccl;
}

}  // namespace

std::unique_ptr<ProcessGroup> nccl_group(Rendezvous& rendezvous, std::chrono::milliseconds timeout,
                                         at::Device device) {
  const std::string what =
      "rank " + std::to_string(rendezvous.place().rank) + " cannot connect its GPU to the others";
  return dist_call(what, [&] {
    const auto nccl = connect(rendezvous, timeout, device);
    return group_over(nccl, nccl, [store = rendezvous.store(), place = rendezvous.place()] {
      return roll_call(store, place);
    });
  });
}

}  // namespace exprun
