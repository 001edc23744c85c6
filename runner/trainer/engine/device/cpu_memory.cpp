#include "engine/device/cpu_memory.h"

#include <c10/core/CPUAllocator.h>

#include "engine/device/block_cache.h"

namespace exprun {

namespace {

// Smaller ones stay in the C library's heap.
constexpr size_t kLeastBytes = size_t{128} << 10;

// Never destroyed: tensors may outlive it.
BlockCache& cache() {
  static auto* const cache = new BlockCache;
  return *cache;
}

c10::Allocator& heap() {
  return *c10::GetDefaultCPUAllocator();
}

void release(void* memory) {
  if (memory && !cache().put(memory)) heap().raw_deleter()(memory);
}

class CpuMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes >= kLeastBytes)
      if (void* const block = cache().take(bytes)) return {block, block, &release, at::kCPU};
    return heap().allocate(bytes);  // says what is wrong where there is none
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

bool kept = false;

}  // namespace

void keep_cpu_memory() {
  if (kept) return;
  kept = true;
  c10::SetCPUAllocator(new CpuMemory);
}

void end_round_of_cpu_memory() {
  if (kept) cache().end_round();
}

void give_back_idle_cpu_memory() {
  if (kept) cache().give_back_idle();
}

}  // namespace exprun
