#include "text/unicode/nfc.h"

#include <algorithm>
#include <bitset>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/utf8.h"
#include "text/unicode/unicode_compositions.h"

namespace exprun {
namespace {

// Below the first combining mark all is in NFC; such characters begin with smaller bytes.
constexpr unsigned char kFirstToLookAt = 0xcc;

// Hangul, as chapter 3.12 of the Unicode Standard has it.
constexpr char32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTrails = 0x11a7;
constexpr char32_t kLeadCount = 19, kVowelCount = 21, kTrailCount = 28;
constexpr char32_t kSyllableCount = kLeadCount * kVowelCount * kTrailCount;

bool is_within(char32_t c, char32_t first, char32_t count) {
  return c >= first && c - first < count;
}

uint64_t pair_of(char32_t first, char32_t second) {
  return uint64_t{first} << 32 | second;
}

struct Tables {
  // Combining marks, what may compose with a character before it, and what NFC never leaves.
  std::bitset<kCodePoints> unsteady;
  std::unordered_map<char32_t, uint8_t> kinds;
  std::unordered_map<char32_t, Decomposition> parts;
  std::unordered_map<uint64_t, char32_t> wholes;

  Tables() {
    for (const CombiningRange& range : combining_ranges())
      for (char32_t c = range.first; c <= range.last; ++c) {
        kinds.emplace(c, range.kind);
        unsteady.set(c);
      }
    for (const Decomposition& each : decompositions()) {
      parts.emplace(each.code, each);
      unsteady.set(each.composes ? each.second : each.code);
      if (each.composes) wholes.emplace(pair_of(each.first, each.second), each.code);
    }
    for (char32_t i = 0; i < kVowelCount; ++i) unsteady.set(kVowels + i);
    for (char32_t i = 1; i < kTrailCount; ++i) unsteady.set(kTrails + i);
  }

  uint8_t kind(char32_t c) const {
    const auto found = kinds.find(c);
    return found == kinds.end() ? 0 : found->second;
  }
};

const Tables& tables() {
  static const auto made = std::make_unique<const Tables>();
  return *made;
}

void decompose(char32_t c, std::u32string& into) {
  if (is_within(c, kSyllables, kSyllableCount)) {
    const char32_t index = c - kSyllables, trail = index % kTrailCount;
    into += kLeads + index / (kVowelCount * kTrailCount);
    into += kVowels + index / kTrailCount % kVowelCount;
    if (trail > 0) into += kTrails + trail;
    return;
  }
  const auto found = tables().parts.find(c);
  if (found == tables().parts.end()) {
    into += c;
    return;
  }
  decompose(found->second.first, into);
  if (found->second.second != 0) decompose(found->second.second, into);
}

std::optional<char32_t> composed(char32_t first, char32_t second) {
  if (is_within(first, kLeads, kLeadCount) && is_within(second, kVowels, kVowelCount))
    return kSyllables + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTrailCount;
  if (is_within(first, kSyllables, kSyllableCount) && (first - kSyllables) % kTrailCount == 0 &&
      is_within(second, kTrails + 1, kTrailCount - 1))
    return first + (second - kTrails);
  const auto found = tables().wholes.find(pair_of(first, second));
  return found == tables().wholes.end() ? std::nullopt : std::optional(found->second);
}

void order_marks(std::u32string& text) {
  const auto kind = [](char32_t c) { return tables().kind(c); };
  for (auto begin = text.begin(); begin != text.end();) {
    begin = std::find_if(begin, text.end(), kind);
    const auto end = std::find_if_not(begin, text.end(), kind);
    std::stable_sort(begin, end, [&](char32_t a, char32_t b) { return kind(a) < kind(b); });
    begin = end;
  }
}

// A mark composes with the last starter unless one of its class, or a greater one, stands between.
void compose(std::u32string& text) {
  size_t size = 0;
  std::optional<size_t> starter;
  uint8_t between = 0;
  for (const char32_t c : text) {
    const uint8_t kind = tables().kind(c);
    const bool may_compose = starter && (between == 0 || between < kind);
    if (const auto whole = may_compose ? composed(text[*starter], c) : std::nullopt) {
      text[*starter] = *whole;
      continue;
    }
    if (kind == 0) starter = size;
    between = kind;
    text[size++] = c;
  }
  text.resize(size);
}

bool is_steady(const CodePoint& point) {
  return !point.valid || !tables().unsteady.test(point.value);
}

// The character that ends at `place`; not valid where that is a broken byte, or the beginning.
CodePoint char_before(std::string_view text, size_t place) {
  for (size_t size = 1; size <= std::min<size_t>(4, place); ++size) {
    const CodePoint point = first_code_point(text.substr(place - size, size));
    if (point.valid && point.bytes.size() == size) return point;
  }
  return {};
}

size_t first_unsteady(std::string_view text, size_t from) {
  while (from < text.size()) {
    if (static_cast<unsigned char>(text[from]) < kFirstToLookAt) {
      ++from;
      continue;
    }
    const CodePoint point = first_code_point(text.substr(from));
    if (!is_steady(point)) return from;
    from += point.bytes.size();
  }
  return from;
}

size_t first_steady(std::string_view text, size_t from) {
  while (from < text.size()) {
    const CodePoint point = first_code_point(text.substr(from));
    if (is_steady(point)) return from;
    from += point.bytes.size();
  }
  return from;
}

void append_composed(std::string_view run, std::string& out) {
  std::u32string decomposed;
  for (const CodePoint& point : code_points(run)) decompose(point.value, decomposed);
  order_marks(decomposed);
  compose(decomposed);
  for (const char32_t c : decomposed) append_code_point(out, c);
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& buffer) {
  size_t done = 0;
  size_t mark = first_unsteady(text, 0);
  if (mark == text.size()) return text;
  buffer.clear();
  for (; mark < text.size(); mark = first_unsteady(text, done)) {
    const size_t begin = mark - char_before(text, mark).bytes.size();  // what it may compose with
    buffer += text.substr(done, begin - done);
    done = first_steady(text, mark);
    append_composed(text.substr(begin, done - begin), buffer);
  }
  return buffer += text.substr(done);
}

bool is_apart_in_nfc(std::string_view text, size_t place) {
  if (place == 0 || place >= text.size()) return false;
  const CodePoint right = first_code_point(text.substr(place));
  return right.valid && is_steady(right) && is_steady(char_before(text, place));
}

}  // namespace exprun
