// A process group over a backend of c10d.
#pragma once

#include <functional>
#include <memory>

#include "dist/failures/membership.h"
#include "dist/failures/watchdog.h"
#include "dist/process_group.h"

namespace c10d {
class Backend;
class Work;
}  // namespace c10d

namespace exprun {

// How a backend's ranks add tensors.
enum class Sums {
  of_backend,         // as the backend does, in an order that may differ between collectives
  in_order_of_ranks,  // each rank sums one part in the order of the ranks: a sum has the same bits
                      // however tensors are cut, so that DDP and ZeRO-1 give the same weights
};

struct BackendParts {
  c10::intrusive_ptr<c10d::Backend> backend;

  // For sum_numbers, so that it does not wait for collectives under way on `backend`.
  c10::intrusive_ptr<c10d::Backend> numbers;

  // Learns of failed exchanges of other ranks, and finds their cause.
  std::shared_ptr<Membership> membership;

  Sums sums = Sums::of_backend;

  // For GPUs, all three or none: `mark` is called before a collective is queued and `watched` with
  // the collective; each returns what the watch calls to learn whether the device has passed it.
  std::unique_ptr<DeviceWatch> watch = nullptr;
  std::function<std::function<bool()>()> mark = nullptr;
  std::function<std::function<bool()>(const c10::intrusive_ptr<c10d::Work>&)> watched = nullptr;
};

std::unique_ptr<ProcessGroup> group_over(BackendParts parts);

}  // namespace exprun
