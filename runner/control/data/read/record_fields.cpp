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
#include <string>

#include "base/utf8.h"
#include "control/data/read/byte_stream.h"

namespace exprun {
namespace {

constexpr std::array<bool, 256> plain_characters() {
  std::array<bool, 256> plain{};
  for (unsigned char c = ' '; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}

constexpr std::array<bool, 256> kPlain = plain_characters();

#ifdef __SSE2__
constexpr ptrdiff_t kBytesAtOnce = 16;

// A bit for each of the bytes that is a quote, a backslash, a control character or not ASCII.
unsigned marks_in(__m128i bytes) {
  const __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  const __m128i others = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '));  // from 0x80 on is negative
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(marks, others)));
}

__m128i block_at(const char* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
#endif

// The number of \uXXXX after its u.
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

// The characters that one letter after a backslash stands for; 0 if it stands for none alone.
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

class Scanner {
 public:
  // Strings without their escapes go where `to` has room for as many bytes as the record has.
  Scanner(std::string_view record, char* to)
      : begin_(record.data()), at_(begin_), end_(begin_ + record.size()), to_(to) {
    if (record.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
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

  // With the brace after them.
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

  // With the colon after it.
  bool name(std::string_view& name) {
    std::string_view half;
    skip_blanks();
    if (!string(name, half)) return false;
    skip_blanks();
    return take(':');
  }

  bool value(RecordField& field) {
    skip_blanks();
    if (at_ == end_) return false;
    if (*at_ == '"') {
      field.is_string = true;
      return string(field.value, field.half);
    }
    const char* const begin = at_;
    if (!(begins_list() ? lists() : literal() || number())) return false;
    field.value = {begin, static_cast<size_t>(at_ - begin)};
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
    std::string_view unused;
    return open.back() == ']' || name(unused);
  }

  // To the value of the next, or after all that ends with it.
  bool end_element(std::string& open) {
    for (; !open.empty(); open.pop_back()) {
      skip_blanks();
      if (take(',')) return begin_element(open);
      if (!take(open.back())) return false;
    }
    return true;
  }

  bool scalar() {
    std::string_view unused, half;
    return at_ != end_ && *at_ == '"' ? string(unused, half) : literal() || number();
  }

  bool string(std::string_view& text, std::string_view& half) {
    if (!take('"')) return false;
    const char* const begin = at_;
    for (;;) {
      at_ += plain_bytes();
      if (at_ == end_) return false;
      if (*at_ == '\\') return string_with_escapes(begin, text, half);
      if (*at_ == '"') break;
      if (!character()) return false;
    }
    text = {begin, static_cast<size_t>(at_ - begin)};
    ++at_;
    return true;
  }

  // From its first escape on.
  bool string_with_escapes(const char* begin, std::string_view& text, std::string_view& half) {
    char* const first = to_;
    to_ = std::copy(begin, at_, to_);
    for (;;) {
      copy_plain_bytes();
      if (at_ == end_) return false;
      if (*at_ == '"') break;
      const char* const from = at_;
      if (*at_ == '\\') {
        if (!escape(half)) return false;
      } else if (character()) {
        to_ = std::copy(from, at_, to_);
      } else {
        return false;
      }
    }
    text = {first, static_cast<size_t>(to_ - first)};
    ++at_;
    return true;
  }

  // What the string itself holds before a quote, a backslash, a control character or one that is
  // not ASCII.
  size_t plain_bytes() const {
    const char* at = at_;
#ifdef __SSE2__
    for (; end_ - at >= kBytesAtOnce; at += kBytesAtOnce)
      if (const unsigned marks = marks_in(block_at(at)))
        return static_cast<size_t>(at - at_ + std::countr_zero(marks));
    if (end_ - begin_ >= kBytesAtOnce) {  // the last block reaches back to what went by
      const auto left = end_ - at;
      const unsigned marks = marks_in(block_at(end_ - kBytesAtOnce)) >> (kBytesAtOnce - left);
      return static_cast<size_t>(at - at_ + (marks ? std::countr_zero(marks) : left));
    }
#endif
    while (at != end_ && kPlain[static_cast<unsigned char>(*at)]) ++at;
    return static_cast<size_t>(at - at_);
  }

  // A whole block is written where as much is left to read: `to` has room for it. Members are out
  // of the loop, which a compiler takes for what may be written to.
  void copy_plain_bytes() {
#ifdef __SSE2__
    const char* at = at_;
    char* to = to_;
    for (const char* const end = end_; end - at >= kBytesAtOnce;
         at += kBytesAtOnce, to += kBytesAtOnce) {
      const __m128i bytes = block_at(at);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
      if (const unsigned marks = marks_in(bytes)) {
        at_ = at + std::countr_zero(marks);
        to_ = to + std::countr_zero(marks);
        return;
      }
    }
    at_ = at;
    to_ = to;
#endif
    const size_t rest = plain_bytes();
    to_ = std::copy_n(at_, rest, to_);
    at_ += rest;
  }

  // Of more than one byte.
  bool character() {
    if (static_cast<unsigned char>(*at_) < 0x80) return false;
    const CodePoint character = first_code_point(rest());
    at_ += character.bytes.size();
    return character.valid;
  }

  bool escape(std::string_view& half) {
    if (end_ - at_ < 2) return false;
    if (const char meant = meaning_of(at_[1])) {
      *to_++ = meant;
      at_ += 2;
      return true;
    }
    const auto escape = escape_by_number(rest());
    if (!escape) return false;
    const bool is_half = is_first_half(escape->character) || is_second_half(escape->character);
    if (is_half && half.empty()) half = {at_, escape->size};
    to_ = write_code_point(to_, is_half ? kReplacementCharacter : escape->character);
    at_ += escape->size;
    return true;
  }

  std::string_view rest() const {
    return {at_, static_cast<size_t>(end_ - at_)};
  }

  bool literal() {
    for (const std::string_view word : {"true", "false", "null"})
      if (rest().starts_with(word)) {
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

  const char* const begin_;
  const char* at_;
  const char* const end_;
  char* to_;
};

}  // namespace

bool RecordFields::find(std::string_view record) {
  if (record.size() > unescaped_.capacity()) unescaped_.reserve(2 * record.size(), 0);
  fields_.clear();
  return Scanner(record, unescaped_.data()).record(fields_);
}

const RecordField* RecordFields::named(std::string_view name) const {
  const auto found = std::find_if(fields_.rbegin(), fields_.rend(),
                                  [&](const RecordField& field) { return field.name == name; });
  return found == fields_.rend() ? nullptr : &*found;
}

}  // namespace exprun
