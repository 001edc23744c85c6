// Canonical decompositions of Unicode, and the classes by which combining marks are ordered: the
// tables that NFC needs.
#pragma once

#include <cstdint>
#include <span>

namespace exprun {

struct Decomposition {
  char32_t code, first, second;  // second is 0 where there is one character only
  bool composes;                 // NFC makes one character of them again
};

struct CombiningRange {
  char32_t first, last;
  uint8_t kind;  // Canonical_Combining_Class, not 0
};

// By code; those of Hangul follow a rule.
std::span<const Decomposition> decompositions();
// By code; all others are of class 0.
std::span<const CombiningRange> combining_ranges();

}  // namespace exprun
