#include "dist/nccl.h"

#include <ATen/DeviceAccelerator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "dist/backend_group.h"
#include "dist/failures/failure.h"
#include "dist/gloo.h"

namespace exprun {
namespace {

using Nccl = c10d::ProcessGroupNCCL;

c10::intrusive_ptr<Nccl> group_of(Rendezvous& rendezvous, std::chrono::milliseconds timeout,
                                  at::Device device) {
  // LibTorch's own watch over collectives takes a minute to end the process of a failed one, and
  // nobody says why; this leaves it out. wait() would then hold the calling thread, which is why
  // nobody calls it. What a cluster's profile says of it is for programs without a watch.
  ::setenv("TORCH_NCCL_BLOCKING_WAIT", "1", 1);
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", 1);
  const RankPlace& place = rendezvous.place();
  auto options = Nccl::Options::create(/*is_high_priority_stream=*/true);
  options->timeout = timeout;
  auto nccl =
      c10::make_intrusive<Nccl>(c10::make_intrusive<c10d::PrefixStore>("nccl", rendezvous.store()),
                                place.rank, place.world_size, options);
  nccl->setBoundDeviceId(device);
  return nccl;
}

// NCCL itself waits for the others as long as it takes.
void connect(const c10::intrusive_ptr<Nccl>& nccl, Peers& peers, Membership& membership,
             std::chrono::milliseconds timeout, at::Device device, const std::string& what) {
  const Membership::Waiting waiting(membership);
  std::string trouble;
  const auto connected = within(
      timeout,
      [nccl, device] {
        nccl->eagerConnectSingleDevice(device);
        return true;
      },
      [&] {
        trouble = peers.look();
        if (trouble.empty()) trouble = membership.trouble();
        return !trouble.empty();
      });
  if (connected) return;
  if (trouble.empty())
    trouble = "some ranks did not join within " +
              std::to_string(std::chrono::ceil<std::chrono::seconds>(timeout).count()) + " s";
  throw Error("dist: " + what + ": " + trouble + membership.cause(), ExitCode::lost_ranks);
}

// NCCL fails for reasons of one machine too: its shared memory, its network.
void report_own_fault(Rendezvous& rendezvous, Peers& peers, const std::exception& fault) {
  const auto* const own = dynamic_cast<const Error*>(&fault);
  const bool lost = own && own->code() == ExitCode::lost_ranks;
  if (!lost && peers.look().empty())
    rendezvous.membership()->report_failure(first_sentence(fault.what()));
}

// For the watch: whether the device has come to what it will be asked for next.
std::function<bool()> marked(at::Device device) {
  const auto event = std::make_shared<c10::Event>(device.type());
  event->record(at::accelerator::getCurrentStream(device.index()));
  return [event, device] {
    const c10::DeviceGuard guard(device);
    return event->query();
  };
}

// For the watch, in its thread. A copy of LibTorch's own does not hold the tensors.
std::function<bool()> watched(const c10::intrusive_ptr<c10d::Work>& work, at::Device device) {
  const auto copy = std::make_shared<Nccl::WorkNCCL>(dynamic_cast<Nccl::WorkNCCL&>(*work));
  return [copy, device] {
    const c10::DeviceGuard guard(device);
    const bool ended = copy->isCompleted();
    if (copy->exception()) std::rethrow_exception(copy->exception());
    return ended;
  };
}

}  // namespace

std::unique_ptr<ProcessGroup> nccl_group(Rendezvous& rendezvous, std::chrono::milliseconds timeout,
                                         at::Device device) {
  const std::string what = "rank " + std::to_string(rendezvous.place().rank) +
                           " cannot connect its GPU to the other ranks";
  return dist_call(what, [&] {
    auto peers = gloo_peers(rendezvous, timeout);
    const auto nccl = group_of(rendezvous, timeout, device);
    try {
      connect(nccl, *peers, *rendezvous.membership(), timeout, device, what);
    } catch (const std::exception& error) {
      report_own_fault(rendezvous, *peers, error);
      peers->leave(Peers::Status::failed);
      throw;
    }
    return group_over({.backend = nccl,
                       .numbers = nccl,
                       .membership = rendezvous.membership(),
                       .watch = std::make_unique<DeviceWatch>(std::move(peers), timeout,
                                                              [nccl] { nccl->abort(); }),
                       .mark = [device] { return marked(device); },
                       .watched = [device](const auto& work) { return watched(work, device); }});
  });
}

}  // namespace exprun
