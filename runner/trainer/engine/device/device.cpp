#include "engine/device/device.h"

#include <ATen/Context.h>
#include <ATen/DeviceAccelerator.h>
#include <ATen/SDPBackend.h>
#include <ATen/ops/empty.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdlib>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/machine/system_usage.h"
#include "engine/device/cpu_memory.h"

namespace exprun {
namespace {

// LibTorch takes the first that can compute what is asked for. cuDNN's kernels are the fastest on
// Hopper and later; where they cannot (older GPUs, fp32, deterministic runs) the next ones do.
void take_cudnn_attention_first() {
  std::vector<int64_t> order;
  for (const at::SDPBackend backend :
       {at::SDPBackend::cudnn_attention, at::SDPBackend::flash_attention,
        at::SDPBackend::efficient_attention, at::SDPBackend::math, at::SDPBackend::overrideable})
    order.push_back(static_cast<int64_t>(backend));
  at::globalContext().setSDPPriorityOrder(order);
}

}  // namespace

at::DeviceType chosen_device(const Section& run) {
  const auto wanted = run.get<std::string>("device");
  if (wanted == "cpu" || (wanted == "auto" && cuda_version().empty())) return at::kCPU;
  try {
    usable_gpus();
    return at::kCUDA;
  } catch (const Error& error) {
    if (wanted == "cuda") throw run.error("device", error.what());
    log_warning(std::string(error.what()) + ": the run trains on the CPU");
    return at::kCPU;
  }
}

int gpu_of_rank(int local_rank, int gpus) {
  if (gpus == 1) return 0;  // a launcher may show each rank its own
  if (local_rank < gpus) return local_rank;
  throw Error("gpu: rank " + std::to_string(local_rank) +
              " of this host has no GPU: " + std::to_string(gpus) +
              " can be used; start fewer ranks, or make more visible (CUDA_VISIBLE_DEVICES)");
}

at::Device device_of_rank(at::DeviceType type, int local_rank) {
  if (type == at::kCPU) return at::kCPU;
  const int index = gpu_of_rank(local_rank, static_cast<int>(usable_gpus().size()));
  return {type, static_cast<at::DeviceIndex>(index)};
}

void use_device(at::Device device, bool deterministic) {
  if (device.is_cpu()) return keep_cpu_memory();
  take_cudnn_attention_first();
  // cuBLAS reads it when it starts; LibTorch demands it of deterministic products.
  if (deterministic) ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  at::globalContext().setDeterministicAlgorithms(deterministic, /*warn_only=*/false);
  // Nothing here reads such memory.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
  at::globalContext().lazyInitDevice(device.type());
  at::accelerator::setDeviceIndex(device.index());
  const c10::impl::VirtualGuardImpl of_type(device.type());
  at::accelerator::setCurrentStream(of_type.getStreamFromGlobalPool(device));
}

void await(at::Device device) {
  if (!device.is_cpu()) at::accelerator::synchronizeDevice(device.index());
}

at::Tensor host_memory(at::IntArrayRef sizes, const at::TensorOptions& of_device) {
  const at::TensorOptions here = of_device.device(at::kCPU);
  try {
    return at::empty(sizes, here.pinned_memory(of_device.device().is_cuda()));
  } catch (const c10::Error& error) {
    log(LogLevel::debug, std::string("gpu: no pinned memory: ") + error.what_without_backtrace());
    return at::empty(sizes, here);
  }
}

DeviceMemory device_memory(at::Device device) {
  DeviceMemory memory;
  if (device.is_cpu()) {
    const MemoryUse use = memory_use();
    memory.total = use.machine_bytes;
    memory.allocated = memory.reserved = use.bytes;
    memory.peak = use.peak_bytes;
    return memory;
  }
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto stats = at::accelerator::getDeviceStats(device.index());
  const auto [free, total] = at::accelerator::getMemoryInfo(device.index());
  memory.total = static_cast<double>(total);
  memory.free = static_cast<double>(free);
  memory.allocated = static_cast<double>(stats.allocated_bytes[kAll].current);
  memory.reserved = static_cast<double>(stats.reserved_bytes[kAll].current);
  memory.peak = static_cast<double>(stats.allocated_bytes[kAll].peak);
  return memory;
}

GpuFacts facts_of(at::Device device) {
  return usable_gpus().at(static_cast<size_t>(device.index()));
}

std::string device_name(at::Device device) {
  return device.is_cpu() ? "cpu" : facts_of(device).name;
}

}  // namespace exprun
