#include "engine/device/cpu_memory.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace exprun {
namespace {

constexpr long kRoundsKept = 2;

// Beyond the most that was in use at once, for sizes that are wanted in turn: a small model never
// maps memory anew, and a large one takes little more than it needs.
constexpr size_t kMostSpare = size_t{32} << 20;

// In steps of at most an eighth, so that sizes which vary a little meet. What lies after a tensor
// is address space until something is written there.
size_t block_size(size_t bytes) {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t step = std::max(page, std::bit_floor(bytes) / 8);
  return (bytes + step - 1) / step * step;
}

// One huge page takes an entry of the processor's table of addresses where 512 others stood, and
// reading ahead does not stop at its end: a token is generated in a tenth less time.
constexpr size_t kHugePage = size_t{2} << 20;

// Null where the system gives none. From kHugePage on it begins at a multiple of that.
void* map_memory(size_t bytes) {
  const size_t spare = bytes < kHugePage ? 0 : kHugePage;
  void* const mapped =
      ::mmap(nullptr, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  if (spare == 0) return mapped;
  auto* const begin = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  std::byte* const memory = begin + (kHugePage - address % kHugePage) % kHugePage;
  const auto before = static_cast<size_t>(memory - begin);
  if (before > 0) ::munmap(begin, before);
  if (before < spare) ::munmap(memory + bytes, spare - before);
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // a kernel without huge pages refuses: no harm
  return memory;
}

}  // namespace

BlockCache::~BlockCache() {
  give_back_idle();
}

void* BlockCache::take(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto idle = idle_for(bytes); idle != idle_.end()) return use(idle);
  const size_t size = block_size(bytes);
  make_room(size);
  auto block = map(size);
  if (block == idle_.end()) {
    while (!idle_.empty()) give_back(idle_.begin());
    block = map(size);
  }
  return block == idle_.end() ? nullptr : use(block);
}

bool BlockCache::put(void* memory) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = in_use_.find(memory);
  if (found == in_use_.end()) return false;
  const auto idle = idle_.insert(std::move(found->second));
  in_use_.erase(found);
  idle->second.round = round_;
  idle_bytes_ += idle->first;
  bytes_in_use_ -= idle->first;
  return true;
}

void BlockCache::end_round() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++round_;
  most_in_use_ = {bytes_in_use_, most_in_use_[0]};
  for (auto idle = idle_.begin(); idle != idle_.end();)
    idle = round_ - idle->second.round > kRoundsKept ? give_back(idle) : std::next(idle);
}

void BlockCache::give_back_idle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!idle_.empty()) give_back(idle_.begin());
}

size_t BlockCache::idle_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return idle_bytes_;
}

void* BlockCache::use(Blocks::iterator idle) {
  void* const memory = idle->second.memory;
  const auto used = in_use_.try_emplace(memory).first;
  idle_bytes_ -= idle->first;
  bytes_in_use_ += idle->first;
  most_in_use_[0] = std::max(most_in_use_[0], bytes_in_use_);
  used->second = idle_.extract(idle);
  return memory;
}

// The smallest that is large enough, unless more than a fifth of it were left over; of equal ones
// the one that was used last, which may be in a processor's cache.
BlockCache::Blocks::iterator BlockCache::idle_for(size_t bytes) {
  const auto fits = idle_.lower_bound(bytes);
  if (fits == idle_.end() || fits->first > block_size(bytes) / 4 * 5) return idle_.end();
  return std::prev(idle_.upper_bound(fits->first));
}

// An idle one, or the end where the system gives none.
BlockCache::Blocks::iterator BlockCache::map(size_t bytes) {
  const auto idle = idle_.insert({bytes, {nullptr, round_}});
  void* const memory = map_memory(bytes);
  if (!memory) {
    idle_.erase(idle);
    return idle_.end();
  }
  idle->second.memory = memory;
  idle_bytes_ += bytes;
  return idle;
}

// Before so many bytes more are in use: what is too small for them goes first.
void BlockCache::make_room(size_t bytes) {
  const size_t most = std::max({most_in_use_[0], most_in_use_[1], bytes_in_use_ + bytes});
  const size_t spare = std::min(most / 2, kMostSpare);
  while (!idle_.empty() && bytes_in_use_ + bytes + idle_bytes_ > most + spare) {
    const auto larger = idle_.lower_bound(bytes);
    give_back(larger == idle_.begin() ? larger : std::prev(larger));
  }
}

BlockCache::Blocks::iterator BlockCache::give_back(Blocks::iterator idle) {
  ::munmap(idle->second.memory, idle->first);
  idle_bytes_ -= idle->first;
  return idle_.erase(idle);
}

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
