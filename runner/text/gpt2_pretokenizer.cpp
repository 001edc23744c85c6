#include "text/gpt2_pretokenizer.h"

#include <algorithm>

#include "base/utf8.h"

namespace exprun {

Gpt2Pretokenizer::Character Gpt2Pretokenizer::beyond_ascii(const char* p, const char* end) const {
  const auto size = std::min<ptrdiff_t>(4, end - p);
  const CodePoint point = first_code_point({p, static_cast<size_t>(size)});
  return {point.valid ? classes_[point.value] : CharClass::other,
          static_cast<int>(point.bytes.size())};
}

// The character that ends at `p`.
Gpt2Pretokenizer::Character Gpt2Pretokenizer::before(const char* begin, const char* p,
                                                     const char* end) const {
  const char* first = p - 1;
  while (first > begin && p - first < 4 && is_continuation(*first)) --first;
  const Character character = at(first, end);
  return first + character.size == p ? character : Character{CharClass::other, 1};
}

size_t Gpt2Pretokenizer::last_certain_end(std::string_view text) const {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  // The bytes of a character that the text tears stand at its end: no place among the last four.
  for (const char* p = end - std::min<size_t>(4, text.size()); p > begin; --p) {
    if (is_continuation(*p)) continue;
    const CharClass behind = before(begin, p, end).kind;
    const CharClass here = at(p, end).kind;
    if (behind == CharClass::space || behind == here) continue;
    if (p[-1] == '\'' && here == CharClass::letter) continue;
    return static_cast<size_t>(p - begin);
  }
  return 0;
}

}  // namespace exprun
