#include "engine/device/block_cache.h"

#include <sys/mman.h>
#include <unistd.h>

#include <iterator>

namespace exprun {

namespace {

constexpr long kRoundsKept = 2;

size_t whole_pages(size_t bytes) {
  static const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

void* map(size_t bytes) {
  void* const block =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? nullptr : block;
}

}  // namespace

BlockCache::~BlockCache() {
  give_back_idle();
}

void* BlockCache::take(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (void* const idle = take_idle(bytes)) return idle;
  make_room(bytes);
  const size_t size = whole_pages(bytes);
  void* block = map(size);
  if (!block) {
    while (!idle_.empty()) give_back(idle_.begin());
    block = map(size);
  }
  if (block) in_use_.emplace(block, size);
  return block;
}

bool BlockCache::put(void* block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = in_use_.find(block);
  if (found == in_use_.end()) return false;
  idle_.insert({found->second, {block, round_}});
  in_use_.erase(found);
  return true;
}

void BlockCache::end_round() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++round_;
  for (auto idle = idle_.begin(); idle != idle_.end();)
    idle = round_ - idle->second.round > kRoundsKept ? give_back(idle) : std::next(idle);
}

void BlockCache::give_back_idle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (!idle_.empty()) give_back(idle_.begin());
}

size_t BlockCache::idle_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t bytes = 0;
  for (const auto& [size, idle] : idle_) bytes += size;
  return bytes;
}

// The smallest that is large enough, unless half of it were left over; of equal ones the one that
// was used last, which may be in a processor's cache.
void* BlockCache::take_idle(size_t bytes) {
  const auto fits = idle_.lower_bound(bytes);
  if (fits == idle_.end() || fits->first > 2 * whole_pages(bytes)) return nullptr;
  const auto last = std::prev(idle_.upper_bound(fits->first));
  void* const block = last->second.block;
  in_use_.emplace(block, last->first);
  idle_.erase(last);
  return block;
}

// As much goes back of what is too small as is wanted: tensors that grow from call to call (a text
// that is sampled) leave no trail. Where the same sizes come in turn, it ends: the largest is there
// after its first time, then the next.
void BlockCache::make_room(size_t bytes) {
  size_t given = 0;
  auto smaller = idle_.lower_bound(bytes);
  while (given < bytes && smaller != idle_.begin()) {
    --smaller;
    given += smaller->first;
    smaller = give_back(smaller);
  }
}

BlockCache::IdleBlocks::iterator BlockCache::give_back(IdleBlocks::iterator idle) {
  ::munmap(idle->second.block, idle->first);
  return idle_.erase(idle);
}

}  // namespace exprun
