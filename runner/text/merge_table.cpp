#include "text/merge_table.h"

#include <algorithm>
#include <bit>

namespace exprun {
namespace {

constexpr size_t kAhead = 16;  // merges whose slots are on their way from memory

}  // namespace

MergeTable::MergeTable(std::span<const Slot> slots)
    : slots_(slots), mask_(slots.size() - 1), shift_(64 - std::countr_zero(slots.size())) {}

MergeTable::MergeTable(std::span<const BpeMerge> merges)
    : own_(std::bit_ceil(std::max<size_t>(2, merges.size() * 2)), {kFree, kNone}),
      slots_(own_),
      mask_(own_.size() - 1),
      shift_(64 - std::countr_zero(own_.size())) {
  for (size_t i = 0; i < merges.size(); ++i) {
    if (i + kAhead < merges.size()) prefetch(merges[i + kAhead]);
    insert(merges[i]);
  }
}

void MergeTable::prefetch(const BpeMerge& merge) const {
  __builtin_prefetch(&slots_[slot_of(key_of(merge.left, merge.right))]);
}

// Of a pair that is there twice the first merge counts.
void MergeTable::insert(const BpeMerge& merge) {
  const uint64_t key = key_of(merge.left, merge.right);
  size_t slot = slot_of(key);
  while (own_[slot].key != kFree && own_[slot].key != key) slot = (slot + 1) & mask_;
  if (own_[slot].key == kFree) own_[slot] = {key, Merged{merge.rank} << 32 | merge.merged};
}

}  // namespace exprun
