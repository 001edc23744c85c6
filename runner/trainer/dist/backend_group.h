// A process group over a backend of c10d.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dist/process_group.h"

namespace c10d {
class Backend;
}

namespace exprun {

// How a backend makes each rank the sum of its part.
enum class ReduceScatter {
  own,       // it has a way of its own
  exchange,  // every rank sends each other its part: Gloo's own way is an all-reduce of a copy
};

// `numbers` serves sum_numbers, so that it waits for nothing that `backend` has under way. `why`:
// what is known of a failure of an exchange, added to its message.
std::unique_ptr<ProcessGroup> group_over(c10::intrusive_ptr<c10d::Backend> backend,
                                         c10::intrusive_ptr<c10d::Backend> numbers,
                                         std::function<std::string()> why,
                                         ReduceScatter reduce_scatter = ReduceScatter::own);

}  // namespace exprun
