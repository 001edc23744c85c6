// Byte pair encoding of one word: of all neighbours that can merge, those of the lowest rank do,
// the leftmost of equals first, until none can.
#pragma once

#include <cstdint>
#include <vector>

#include "text/merge_table.h"

namespace exprun {

// `tokens` begins as one token a byte. A short word is scanned for each merge, which is fastest
// for few tokens; a long one keeps its pairs in a heap, so that a megabyte of spaces takes n log n.
class WordMerger {
 public:
  explicit WordMerger(const MergeTable& table) : table_(table) {}

  void merge(std::vector<uint32_t>& tokens);

 private:
  void merge_short(std::vector<uint32_t>& tokens);

  const MergeTable& table_;
  std::vector<MergeTable::Merged> pairs_;  // pairs_[i]: what tokens i and i + 1 become
};

}  // namespace exprun
