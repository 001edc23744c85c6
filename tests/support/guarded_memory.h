// While it exists, the memory of tensors on the CPU ends at a page that nobody may touch: who
// writes after the end of a tensor ends the test program.
#pragma once

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <map>
#include <mutex>
#include <new>

namespace exprun {

class GuardedMemory {
 public:
  GuardedMemory() : before_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(&allocator()); }
  ~GuardedMemory() { c10::SetCPUAllocator(before_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

 private:
  struct Mapping {
    void* begin;
    size_t bytes;
  };

  class Allocator final : public c10::Allocator {
   public:
    c10::DataPtr allocate(size_t bytes) override {
      constexpr size_t kAlignment = 64;
      const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
      const size_t aligned = (bytes + kAlignment - 1) / kAlignment * kAlignment;
      const size_t usable = (aligned + page - 1) / page * page;
      void* const begin = ::mmap(nullptr, usable + page, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (begin == MAP_FAILED) throw std::bad_alloc();
      auto* const end = static_cast<std::byte*>(begin) + usable;
      ::mprotect(end, page, PROT_NONE);
      void* const memory = end - aligned;
      const std::lock_guard<std::mutex> lock(mutex_);
      mappings_[memory] = {begin, usable + page};
      return {memory, memory, &release, at::kCPU};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void* to, const void* from, size_t bytes) const override {
      default_copy_data(to, from, bytes);
    }
    void give_back(void* memory) {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto mapping = mappings_.extract(memory).mapped();
      ::munmap(mapping.begin, mapping.bytes);
    }

   private:
    std::mutex mutex_;
    std::map<void*, Mapping> mappings_;
  };

  static void release(void* memory) { allocator().give_back(memory); }

  static Allocator& allocator() {
    static auto* const allocator = new Allocator;  // tensors may outlive all else
    return *allocator;
  }

  c10::Allocator* before_;
};

}  // namespace exprun
