#include "text/known_patterns.h"

#include <algorithm>

#include "base/utf8.h"
#include "text/gpt2_split.h"
#include "text/unicode_classes.h"

namespace exprun {
namespace {

constexpr KnownPattern kKnown[] = {
    {kGpt2Pattern, PatternFamily::gpt2},
    // GPT-2's as OpenAI first wrote it
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     PatternFamily::gpt2},
    // Llama 3, and cl100k as it is in files of tokenizers
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     PatternFamily::cl100k},
    // cl100k as tiktoken has it
    {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
     PatternFamily::cl100k},
    // Qwen 2
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     PatternFamily::cl100k},
    // o200k
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     PatternFamily::cl100k},
};

bool is_letter(char32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= 0x4e00 && c <= 0x9fa5);
}

bool is_stop(char32_t c) {
  return c == 0x3001 || c == 0x3002 || c == 0xff0c;
}

bool ends_letters(char32_t c) {
  return is_stop(c) || (c < 0x80 && !is_letter(c) && c != '\'');
}

bool is_space(char32_t c) {
  return char_classes()[c] == CharClass::space;
}

// The character that ends at `place`; a broken byte is one, and no space.
CodePoint before(std::string_view text, size_t place) {
  for (size_t size = std::min<size_t>(4, place); size > 1; --size) {
    const CodePoint point = first_code_point(text.substr(place - size, size));
    if (point.valid && point.bytes.size() == size) return point;
  }
  return first_code_point(text.substr(place - 1, 1));
}

bool is_certain(const CodePoint& left, const CodePoint& right) {
  if (!right.valid) return false;
  if (right.value == ' ' && !(left.valid && is_space(left.value))) return true;
  if (!left.valid) return false;
  if (left.value == '\n') return right.value != '/' && !is_space(right.value);
  return is_letter(left.value) && ends_letters(right.value);
}

}  // namespace

std::span<const KnownPattern> known_patterns() {
  return kKnown;
}

PatternFamily family_of(std::string_view pattern) {
  for (const KnownPattern& known : kKnown)
    if (known.pattern == pattern) return known.family;
  return PatternFamily::unknown;
}

PatternFamily family_of(std::span<const std::string> patterns) {
  if (patterns.empty()) return PatternFamily::unknown;
  for (const std::string& before : patterns.first(patterns.size() - 1))
    if (before != kEachNumber && before != kRunsOfNumbers) return PatternFamily::unknown;
  return family_of(patterns.back());
}

size_t last_certain_end(std::string_view text) {
  for (size_t place = text.size() - std::min<size_t>(1, text.size()); place > 0; --place)
    if (is_certain(before(text, place), first_code_point(text.substr(place)))) return place;
  return 0;
}

}  // namespace exprun
