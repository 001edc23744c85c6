// One group for the tensors of CPUs and GPUs, each of which go through a group of their own.
#pragma once

#include <memory>

#include "dist/process_group.h"

namespace exprun {

// Each collective goes through the group for its tensors' device. Both groups have the same ranks.
std::unique_ptr<ProcessGroup> group_by_device(std::unique_ptr<ProcessGroup> of_cpus,
                                              std::unique_ptr<ProcessGroup> of_gpus);

}  // namespace exprun
