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
  // What a pair becomes: rank in the high half, so that the least of two goes first.
  using Merged = uint64_t;
  static constexpr Merged kNone = UINT64_MAX;
  static uint32_t token_of(Merged merged) { return static_cast<uint32_t>(merged); }

  struct Slot {
    uint64_t key;
    Merged merged;
  };

  explicit MergeTable(std::span<const BpeMerge> merges);
  // The slots of another, which outlive this one.
  explicit MergeTable(std::span<const Slot> slots);
  MergeTable(MergeTable&&) = default;

  std::span<const Slot> slots() const { return slots_; }

  Merged find(uint32_t left, uint32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t slot = slot_of(key);; slot = (slot + 1) & mask_) {
      if (slots_[slot].key == key) return slots_[slot].merged;
      if (slots_[slot].key == kFree) return kNone;
    }
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;

  static uint64_t key_of(uint32_t left, uint32_t right) { return uint64_t{left} << 32 | right; }
  size_t slot_of(uint64_t key) const { return (key * 0x9e3779b97f4a7c15) >> shift_; }
  void prefetch(const BpeMerge& merge) const;
  void insert(const BpeMerge& merge);

  std::vector<Slot> own_;  // none, where another's are looked at
  std::span<const Slot> slots_;
  size_t mask_;
  int shift_;
};

}  // namespace exprun
