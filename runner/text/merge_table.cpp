#include "text/merge_table.h"

#include <algorithm>
#include <bit>

namespace exprun {
namespace {

constexpr size_t kAhead = 16;  // merges whose slots are on their way from memory

}  // namespace

MergeTable::MergeTable(std::span<const Slot> slots, std::span<const uint32_t> merged)
    : slots_(slots),
      merged_(merged),
      mask_(slots.size() - 1),
      shift_(64 - std::countr_zero(slots.size())) {}

MergeTable::MergeTable(std::span<const BpeMerge> merges)
    : own_slots_(std::bit_ceil(std::max<size_t>(2, merges.size() * 2)), kFree),
      slots_(own_slots_),
      mask_(own_slots_.size() - 1),
      shift_(64 - std::countr_zero(own_slots_.size())) {
  for (size_t i = 0; i < merges.size(); ++i) {
    if (i + kAhead < merges.size()) prefetch(merges[i + kAhead]);
    insert(merges[i]);
  }
  merged_ = own_merged_;
}

void MergeTable::prefetch(const BpeMerge& merge) const {
  __builtin_prefetch(&slots_[slot_of(key_of(merge.left, merge.right))]);
}

// Of a pair that is there twice the first merge counts.
void MergeTable::insert(const BpeMerge& merge) {
  const uint64_t key = key_of(merge.left, merge.right);
  size_t slot = slot_of(key);
  while (own_slots_[slot] != kFree && own_slots_[slot] >> kRankBits != key)
    slot = (slot + 1) & mask_;
  if (own_slots_[slot] != kFree) return;
  own_slots_[slot] = key << kRankBits | merge.rank;
  if (merge.rank >= own_merged_.size()) own_merged_.resize(size_t{merge.rank} + 1);
  own_merged_[merge.rank] = merge.merged;
}

}  // namespace exprun
