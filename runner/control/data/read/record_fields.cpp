#include "control/data/read/record_fields.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/utf8.h"

namespace exprun {
namespace {

constexpr int kMostNested = 64;
constexpr ptrdiff_t kLongNumber = 100;

constexpr std::array<bool, 256> plain_characters() {
  std::array<bool, 256> plain{};
  for (unsigned char c = ' '; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}

constexpr std::array<bool, 256> kPlain = plain_characters();

// How many bytes go by before a quote, a backslash, a control character or one that is not ASCII,
// in steps of sixteen.
size_t plain_bytes(const char* at, const char* end) {
  const char* const begin = at;
#ifdef __SSE2__
  for (; end - at >= 16; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                       _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    const __m128i others = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '));  // from 0x80 on is negative
    if (const int found = _mm_movemask_epi8(_mm_or_si128(marks, others)))
      return static_cast<size_t>(at - begin + std::countr_zero(static_cast<unsigned>(found)));
  }
#endif
  while (at != end && kPlain[static_cast<unsigned char>(*at)]) ++at;
  return static_cast<size_t>(at - begin);
}

// The number of \uXXXX behind its u.
std::optional<char32_t> hex_number(std::string_view text) {
  uint32_t number = 0;
  if (text.size() < 4) return std::nullopt;
  const auto read = std::from_chars(text.data(), text.data() + 4, number, 16);
  return read.ptr == text.data() + 4 ? std::optional<char32_t>(number) : std::nullopt;
}

bool is_first_half(char32_t number) {
  return number >= 0xD800 && number < 0xDC00;
}

bool is_second_half(char32_t number) {
  return number >= 0xDC00 && number < 0xE000;
}

struct Escape {
  char32_t character = 0;
  size_t size = 0;  // with the backslash
};

// The characters that one letter behind a backslash stands for; 0 if it stands for none alone.
constexpr std::array<char, 256> escaped_characters() {
  std::array<char, 256> meant{};
  constexpr std::string_view kLetters = "\"\\/bfnrt", kCharacters = "\"\\/\b\f\n\r\t";
  for (size_t i = 0; i < kLetters.size(); ++i)
    meant[static_cast<unsigned char>(kLetters[i])] = kCharacters[i];
  return meant;
}

constexpr std::array<char, 256> kEscaped = escaped_characters();

char meaning_of(char letter) {
  return kEscaped[static_cast<unsigned char>(letter)];
}

// \uXXXX, or two of them that are one character.
std::optional<Escape> escape_by_number(std::string_view text) {
  const auto first = text[1] == 'u' ? hex_number(text.substr(2)) : std::nullopt;
  if (!first || is_second_half(*first)) return std::nullopt;
  if (!is_first_half(*first)) return Escape{*first, 6};
  const auto second = text.substr(6, 2) == "\\u" ? hex_number(text.substr(8)) : std::nullopt;
  if (!second || !is_second_half(*second)) return std::nullopt;
  return Escape{0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00), 12};
}

// Of what a backslash begins, with it; 0 for nothing.
size_t size_of_escape(std::string_view text) {
  if (text.size() < 2) return 0;
  if (meaning_of(text[1])) return 2;
  const auto escape = escape_by_number(text);
  return escape ? escape->size : 0;
}

// Copies what stands before the next backslash, or all: whether there is one. Sixteen bytes at a
// time are written where as many are left to read, so that `to` needs no more room than they have.
bool copy_to_escape(const char*& at, const char* end, char*& to) {
#ifdef __SSE2__
  for (; end - at >= 16; at += 16, to += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
    const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    if (found == 0) continue;
    const int plain = std::countr_zero(static_cast<unsigned>(found));
    at += plain;
    to += plain;
    return true;
  }
#endif
  while (at != end && *at != '\\') *to++ = *at++;
  return at != end;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  bool record(std::vector<RecordField>& fields) {
    skip_blanks();
    if (!object(kMostNested, [&](const RecordField& field) { fields.push_back(field); }))
      return false;
    skip_blanks();
    return at_ == end_;
  }

 private:
  bool take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }

  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }

  // Fields or elements, and `close` behind them.
  template <class Element>
  bool list(char close, Element element) {
    skip_blanks();
    if (take(close)) return true;
    do {
      skip_blanks();
      if (!element()) return false;
      skip_blanks();
    } while (take(','));
    return take(close);
  }

  template <class Use>
  bool object(int levels, Use use) {
    if (levels == 0 || !take('{')) return false;
    return list('}', [&] {
      RecordField name, value;
      if (!string(name) || name.has_escapes) return false;
      skip_blanks();
      if (!take(':')) return false;
      skip_blanks();
      value.name = name.value;
      if (!this->value(value, levels - 1)) return false;
      use(value);
      return true;
    });
  }

  bool value(RecordField& field, int levels) {
    if (at_ == end_) return false;
    if (*at_ == '"') {
      field.is_string = true;
      return string(field);
    }
    const char* const begin = at_;
    const bool good = *at_ == '{'   ? object(levels, [](const RecordField&) {})
                      : *at_ == '[' ? array(levels)
                                    : literal() || number();
    field.value = {begin, static_cast<size_t>(at_ - begin)};
    return good;
  }

  bool array(int levels) {
    if (levels == 0 || !take('[')) return false;
    return list(']', [&] {
      RecordField element;
      return value(element, levels - 1);
    });
  }

  bool string(RecordField& field) {
    if (!take('"')) return false;
    const char* const begin = at_;
    for (;;) {
      at_ += plain_bytes(at_, end_);
      if (at_ == end_) return false;
      const std::string_view rest(at_, static_cast<size_t>(end_ - at_));
      const auto byte = static_cast<unsigned char>(*at_);
      if (byte == '"') break;
      if (byte == '\\') {
        const size_t size = size_of_escape(rest);
        if (size == 0) return false;
        field.has_escapes = true;
        at_ += size;
      } else if (byte < 0x80) {
        if (byte < ' ') return false;
        ++at_;
      } else {
        const CodePoint character = first_code_point(rest);
        if (!character.valid) return false;
        at_ += character.bytes.size();
      }
    }
    field.value = {begin, static_cast<size_t>(at_ - begin)};
    ++at_;
    return true;
  }

  bool literal() {
    const std::string_view rest(at_, static_cast<size_t>(end_ - at_));
    for (const std::string_view word : {"true", "false", "null"})
      if (rest.starts_with(word)) {
        at_ += word.size();
        return true;
      }
    return false;
  }

  bool digits() {
    const char* const begin = at_;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') ++at_;
    return at_ != begin;
  }

  // Not those that may be too large for a double.
  bool number() {
    const char* const begin = at_;
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    return at_ - begin < kLongNumber && (at_ == end_ || (*at_ != 'e' && *at_ != 'E'));
  }

  const char* at_;
  const char* end_;
};

}  // namespace

void RecordField::append_to(std::string& text) const {
  if (!has_escapes) {
    text += value;
    return;
  }
  const size_t before = text.size();
  text.resize(before + value.size());  // an escape is longer than what it stands for
  const char* at = value.data();
  const char* const end = at + value.size();
  char* to = text.data() + before;
  while (copy_to_escape(at, end, to)) {
    if (const char meant = meaning_of(at[1])) {
      *to++ = meant;
      at += 2;
      continue;
    }
    const Escape escape = *escape_by_number({at, static_cast<size_t>(end - at)});
    std::string character;
    append_code_point(character, escape.character);
    to = std::copy(character.begin(), character.end(), to);
    at += escape.size;
  }
  text.resize(static_cast<size_t>(to - text.data()));
}

bool find_fields(std::string_view record, std::vector<RecordField>& fields) {
  return Scanner(record).record(fields);
}

}  // namespace exprun
