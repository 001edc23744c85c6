// Which pair of tokens becomes which token, and how early: the merges of a BPE vocabulary in one
// flat table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace exprun {

struct BpeMerge {
  uint32_t left, right, merged;
  uint32_t rank;  // lower goes first
};

class MergeTable {
 public:
  static constexpr int kIdBits = 21, kRankBits = 22;
  using Rank = uint32_t;                               // of a pair; the least goes first
  static constexpr Rank kNone = Rank{1} << kRankBits;  // after all others
  // A pair and its rank. Words that are met for the first time take a third of a text's time, and
  // look up 20 pairs each: the smaller the table, the more of it is in the processor's cache.
  using Slot = uint64_t;

  // Ids are below 2^kIdBits, ranks below kNone - 1, so that no slot has all bits set; merges of one
  // rank make one token.
  explicit MergeTable(std::span<const BpeMerge> merges);

  Rank find(uint32_t left, uint32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
      if (slots_[slot] == kFree) return kNone;
      if (slots_[slot] >> kRankBits == key) return slots_[slot] & kRankMask;
    }
  }
  uint32_t token_of(Rank rank) const { return merged_[rank]; }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  static constexpr uint64_t kRankMask = kNone - 1;

  static uint64_t key_of(uint32_t left, uint32_t right) {
    return uint64_t{left} << kIdBits | right;
  }
  size_t slot_of(uint64_t key) const { return (key * 0x9e3779b97f4a7c15) >> shift_; }
  void insert(const BpeMerge& merge);

  std::vector<Slot> slots_;
  std::vector<uint32_t> merged_;  // by rank
  size_t mask_;
  int shift_;
};

}  // namespace exprun
