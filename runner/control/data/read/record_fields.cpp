#include "control/data/read/record_fields.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/diagnostic.h"
#include "base/utf8.h"
#include "control/data/read/stream_buffer.h"

namespace exprun {
namespace {

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
  char32_t character = 0;  // or half of a surrogate pair, alone
  size_t size = 0;         // with the backslash
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
  if (!first) return std::nullopt;
  if (!is_first_half(*first)) return Escape{*first, 6};
  const auto second = text.substr(6, 2) == "\\u" ? hex_number(text.substr(8)) : std::nullopt;
  if (!second || !is_second_half(*second)) return Escape{*first, 6};
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

// Adds a string without its escapes. Returns the first of them that is half of a surrogate pair,
// for which U+FFFD stands.
std::string_view append_unescaped(std::string& text, std::string_view string) {
  const size_t before = text.size();
  text.resize(before + string.size());  // an escape is longer than what it stands for
  std::string_view half;
  const char* at = string.data();
  const char* const end = at + string.size();
  char* to = text.data() + before;
  while (copy_to_escape(at, end, to)) {
    if (const char meant = meaning_of(at[1])) {
      *to++ = meant;
      at += 2;
      continue;
    }
    const Escape escape = *escape_by_number({at, static_cast<size_t>(end - at)});
    const bool is_half = is_first_half(escape.character) || is_second_half(escape.character);
    if (is_half && half.empty()) half = {at, escape.size};
    to = write_code_point(to, is_half ? kReplacementCharacter : escape.character);
    at += escape.size;
  }
  text.resize(static_cast<size_t>(to - text.data()));
  return half;
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {
    if (text.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
  }

  bool record(std::vector<RecordField>& fields) {
    skip_blanks();
    if (!take('{') || !all_fields(fields)) return false;
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

  // With the brace behind them.
  bool all_fields(std::vector<RecordField>& fields) {
    skip_blanks();
    if (take('}')) return true;
    do {
      RecordField field;
      if (!name(field.name) || !value(field)) return false;
      fields.push_back(field);
      skip_blanks();
    } while (take(','));
    return take('}');
  }

  // With the colon behind it.
  bool name(JsonString& name) {
    skip_blanks();
    if (!string(name)) return false;
    skip_blanks();
    return take(':');
  }

  bool value(RecordField& field) {
    skip_blanks();
    if (at_ == end_) return false;
    if (*at_ == '"') {
      field.is_string = true;
      return string(field.value);
    }
    const char* const begin = at_;
    if (!(begins_list() ? lists() : literal() || number())) return false;
    field.value.bytes = {begin, static_cast<size_t>(at_ - begin)};
    return true;
  }

  bool begins_list() const { return at_ != end_ && (*at_ == '{' || *at_ == '['); }

  // Arrays and objects in each other, without a call for each: they may be as deep as they like.
  bool lists() {
    std::string open;  // what closes them, the innermost last
    do {
      skip_blanks();
      if (begins_list()) {
        open += *at_++ == '{' ? '}' : ']';
        skip_blanks();
        if (!take(open.back())) {
          if (!begin_element(open)) return false;
          continue;
        }
        open.pop_back();
      } else if (!scalar()) {
        return false;
      }
      if (!end_element(open)) return false;
    } while (!open.empty());
    return true;
  }

  // To its value.
  bool begin_element(const std::string& open) {
    JsonString unused;
    return open.back() == ']' || name(unused);
  }

  // To the value of the next, or behind all that ends with it.
  bool end_element(std::string& open) {
    for (; !open.empty(); open.pop_back()) {
      skip_blanks();
      if (take(',')) return begin_element(open);
      if (!take(open.back())) return false;
    }
    return true;
  }

  bool scalar() {
    JsonString unused;
    return at_ != end_ && *at_ == '"' ? string(unused) : literal() || number();
  }

  bool string(JsonString& string) {
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
        string.has_escapes = true;
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
    string.bytes = {begin, static_cast<size_t>(at_ - begin)};
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

  // However large: it is made no double.
  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (!take('e') && !take('E')) return true;
    if (!take('+')) take('-');
    return digits();
  }

  const char* at_;
  const char* end_;
};

}  // namespace

std::string RecordField::shown_name() const {
  std::string shown;
  append_unescaped(shown, name.bytes);
  return shown;
}

bool RecordField::is_named(std::string_view wanted) const {
  return name.has_escapes ? shown_name() == wanted : name.bytes == wanted;
}

void RecordField::append_to(std::string& text) const {
  const std::string_view half = append_unescaped(text, value.bytes);
  if (!half.empty())
    throw Error("holds half of a surrogate pair (" + std::string(half) +
                "), which is no character, in its field '" + shown_name() + "'");
}

bool find_fields(std::string_view record, std::vector<RecordField>& fields) {
  return Scanner(record).record(fields);
}

}  // namespace exprun
