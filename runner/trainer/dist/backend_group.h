// A process group over a backend of c10d.
#pragma once

#include <functional>
#include <memory>

#include "dist/membership.h"
#include "dist/process_group.h"
#include "dist/watchdog.h"

namespace c10d {
class Backend;
class Work;
}  // namespace c10d

namespace exprun {

// How a backend's ranks add tensors.
enum class Sums {
  of_backend,         // in its own way, whose order may differ from one collective to another
  in_order_of_ranks,  // every rank adds its part of all: a sum has the same bits however tensors
                      // are cut, so that DDP and ZeRO-1 train alike
};

struct BackendParts {
  c10::intrusive_ptr<c10d::Backend> backend;

  // Serves sum_numbers, so that it waits for nothing that `backend` has under way.
  c10::intrusive_ptr<c10d::Backend> numbers;

  // Hears of the failures of other ranks' exchanges, and finds the cause of each.
  std::shared_ptr<Membership> membership;

  Sums sums = Sums::of_backend;

  // Of GPUs, together: where the device's work stands when a collective is about to be asked for,
  // and the collective, become what the watch asks whether they have passed.
  std::unique_ptr<DeviceWatch> watch = nullptr;
  std::function<std::function<bool()>()> mark = nullptr;
  std::function<std::function<bool()>(const c10::intrusive_ptr<c10d::Work>&)> watched = nullptr;
};

std::unique_ptr<ProcessGroup> group_over(BackendParts parts);

}  // namespace exprun
