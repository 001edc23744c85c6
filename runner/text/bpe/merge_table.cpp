#include "text/bpe/merge_table.h"

#include <algorithm>
#include <bit>

namespace exprun {

MergeTable::MergeTable(std::span<const BpeMerge> merges)
    : slots_(std::bit_ceil(std::max<size_t>(2, merges.size() * 2)), kFree),
      mask_(slots_.size() - 1),
      shift_(64 - std::countr_zero(slots_.size())) {
  for (const BpeMerge& merge : merges) insert(merge);
}

// The first merge of a pair counts.
void MergeTable::insert(const BpeMerge& merge) {
  const uint64_t key = key_of(merge.left, merge.right);
  size_t slot = slot_of(key);
  while (slots_[slot] != kFree && slots_[slot] >> kRankBits != key) slot = (slot + 1) & mask_;
  if (slots_[slot] != kFree) return;
  slots_[slot] = key << kRankBits | merge.rank;
  if (merge.rank >= merged_.size()) merged_.resize(size_t{merge.rank} + 1);
  merged_[merge.rank] = merge.merged;
}

}  // namespace exprun
