// Where this process computes: on the CPU, or on one GPU. CUDA's headers are not needed: LibTorch's
// accelerator interface answers in both programs.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "engine/device/gpu.h"
#include "recipe/section.h"

namespace exprun {

// What [run] device means for this program and machine: "auto" is a GPU where there is one that can
// be used; why there is none, though this program is for GPUs, is a warning. Throws RecipeError for
// "cuda" where there is none.
at::DeviceType chosen_device(const Section& run);

// The device of a rank with this number among those of its host: the only GPU that it sees, or the
// one of its number. Throws Error when there are not as many.
at::Device device_of_rank(at::DeviceType type, int local_rank);
int gpu_of_rank(int local_rank, int gpus);  // the index

// Once, before the first tensor. A CPU's memory is kept between tensors (cpu_memory.h). A GPU's
// work goes to one stream of its own, whatever thread asks for it; attention is cuDNN's where that
// can do it. `deterministic`: its kernels too, which costs speed; an operator that has no such
// kernel is an error then.
void use_device(at::Device device, bool deterministic);

// Returns when the device has done all that it was asked to; a CPU has always.
void await(at::Device device);

// Memory of the CPU for a copy that a device makes by itself, after what it has been asked for
// before: copy_ to it with non_blocking, and await the device. Pinned where the system gives that.
at::Tensor host_memory(at::IntArrayRef sizes, const at::TensorOptions& of_device);

// Bytes: of a GPU as LibTorch's allocator counts them, of a CPU those of the process and machine.
struct DeviceMemory {
  double total = 0;
  double free = 0;       // of a GPU: what nobody has taken
  double allocated = 0;  // by tensors
  double reserved = 0;   // from the device, of which tensors take a part
  double peak = 0;       // allocated, since the process began
};
DeviceMemory device_memory(at::Device device);

// Of a GPU.
GpuFacts facts_of(at::Device device);

// "cpu" or the GPU's name: what bits depend on.
std::string device_name(at::Device device);

}  // namespace exprun
