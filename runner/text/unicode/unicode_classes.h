// Letters, numbers and white space of Unicode 16, as the patterns of byte-level BPE ask for them
// (\p{L}, \p{N}, \s). A table of our own, so that tokens do not depend on the Unicode version of an
// installed library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace exprun {

enum class CharClass : uint8_t { other, letter, number, space };

struct CharRange {
  char32_t first, last;
  CharClass kind;
};

// Sorted, without overlap; what is in none is `other`. Written by tools/unicode_classes.
std::span<const CharRange> char_ranges();

// One class for every code point, made at the first call.
std::span<const CharClass> char_classes();

}  // namespace exprun
