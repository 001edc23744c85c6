// GPT-2's pre-tokenizer, which cuts a text into the words that its byte-level BPE is applied to:
//   '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// written by hand, because PCRE2 takes as long for a word as all the rest. Tests hold it against
// PCRE2. A byte that is no UTF-8 is a character of its own, neither letter, number nor space.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "text/unicode/unicode_classes.h"

namespace exprun {

inline constexpr const char* kGpt2Pattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class Gpt2Pretokenizer {
 public:
  Gpt2Pretokenizer() : classes_(char_classes().data()) {}

  // The end of the word that begins at `p`, before `end`.
  const char* end_of_word(const char* p, const char* end) const {
    if (*p == ' ' && p + 1 != end) {
      const Character next = at(p + 1, end);
      return next.kind == CharClass::space ? end_of_spaces(p, end)
                                           : end_of_run(p + 1 + next.size, end, next.kind);
    }
    if (*p == '\'')
      if (const int size = contraction(p, end)) return p + size;
    const Character first = at(p, end);
    return first.kind == CharClass::space ? end_of_spaces(p, end)
                                          : end_of_run(p + first.size, end, first.kind);
  }

  // The last place at which a word ends whatever stands before and after it: where the class
  // changes after a character that is no space. 0 if there is none.
  size_t last_certain_end(std::string_view text) const;

 private:
  struct Character {
    CharClass kind;
    int size;  // bytes
  };

  Character at(const char* p, const char* end) const {
    const auto byte = static_cast<unsigned char>(*p);
    if (byte < 0x80) return {classes_[byte], 1};
    return beyond_ascii(p, end);
  }

  Character beyond_ascii(const char* p, const char* end) const;
  Character before(const char* begin, const char* p, const char* end) const;

  static bool is_continuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
  }

  // 's 't 'm 'd 'll 've 're; 0 for none.
  static int contraction(const char* p, const char* end) {
    if (end - p < 2) return 0;
    const char a = p[1];
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return 2;
    if (end - p < 3) return 0;
    const char b = p[2];
    const bool three = (a == 'l' && b == 'l') || (a == 'v' && b == 'e') || (a == 'r' && b == 'e');
    return three ? 3 : 0;
  }

  // How many of the next eight bytes are ASCII letters before the first that is none.
  static int leading_letters(const char* p) {
    constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
    uint64_t word;
    std::memcpy(&word, p, sizeof word);
    const uint64_t low = (word | 0x20 * kOnes) & ~kHigh;       // small letters, 7 bits
    const uint64_t from_a = low + (0x80 - 'a') * kOnes;        // high bit: >= 'a'
    const uint64_t behind_z = low + (0x80 - 'z' - 1) * kOnes;  // high bit: > 'z'
    const uint64_t letters = from_a & ~behind_z & ~word & kHigh;
    return std::countr_one(letters | ~kHigh) / 8;
  }

  const char* end_of_run(const char* p, const char* end, CharClass kind) const {
    if (kind == CharClass::letter)
      while (end - p >= 8) {
        const int letters = leading_letters(p);
        p += letters;
        if (letters < 8) break;
      }
    while (p < end) {
      const Character next = at(p, end);
      if (next.kind != kind) break;
      p += next.size;
    }
    return p;
  }

  // \s+(?!\S)|\s+: what is followed by a word leaves its last space to it.
  const char* end_of_spaces(const char* p, const char* end) const {
    const char* last = p;
    const char* next = p;
    while (next < end) {
      const Character space = at(next, end);
      if (space.kind != CharClass::space) return last == p ? next : last;
      last = next;
      next += space.size;
    }
    return end;
  }

  const CharClass* classes_;
};

}  // namespace exprun
