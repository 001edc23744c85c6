// Byte pair encoding of one word: of all neighbours that can merge, those of the lowest rank do,
// the leftmost of equals first, until none can.
#pragma once

#include <cstdint>
#include <vector>

#include "text/merge_table.h"

namespace exprun {

// `tokens` begins as one token a byte. Of a short word all pairs are looked at for each merge,
// which is fastest for few; a long one keeps them in a heap, so that a megabyte of spaces takes n
// log n.
void merge_word(const MergeTable& table, std::vector<uint32_t>& tokens);

}  // namespace exprun
