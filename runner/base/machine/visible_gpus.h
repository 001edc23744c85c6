// Which GPUs a process may use, as CUDA's run-time library reads CUDA_VISIBLE_DEVICES.
#pragma once

#include <cstddef>
#include <vector>

#include "base/machine/nvml.h"

namespace exprun {

// Numbers in `gpus`, in the order of `list`: indices, or beginnings of uuids that fit one GPU; null
// (not set) is all. The first entry that names nothing ends the list; a GPU that is named twice
// empties it. A process sees one MIG instance at most, and beside it no other GPU. (CUDA's
// programming guide, "CUDA environment variables"; NVIDIA's MIG user guide, "CUDA device
// enumeration".)
//
// Indices are those of the PCI bus, which CUDA_DEVICE_ORDER=PCI_BUS_ID makes CUDA's too; where GPUs
// of several kinds are in another order, an index may mean another one of them.
std::vector<size_t> visible_gpus(const std::vector<Gpu>& gpus, const char* list);

}  // namespace exprun
