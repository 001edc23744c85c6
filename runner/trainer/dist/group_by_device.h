// One group for tensors of two devices: GPUs exchange theirs among themselves, CPUs the others.
#pragma once

#include <memory>

#include "dist/process_group.h"

namespace exprun {

// Each collective goes through the group of its tensors' device. Both have the same ranks.
std::unique_ptr<ProcessGroup> group_by_device(std::unique_ptr<ProcessGroup> of_cpus,
                                              std::unique_ptr<ProcessGroup> of_gpus);

}  // namespace exprun
