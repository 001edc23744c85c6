#include "base/utf8.h"

#include <algorithm>
#include <cstdio>

namespace exprun {
namespace {

struct Range {
  char32_t first, last;
};

constexpr Range kCombining[] = {
    {0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
constexpr Range kWide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                           {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};

template <size_t N>
bool in(const Range (&ranges)[N], char32_t c) {
  for (const Range& range : ranges)
    if (c >= range.first && c <= range.last) return true;
  return false;
}

// Length of the sequence that a byte begins, 0 if it begins none.
size_t sequence_length(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const CodePoint broken{kReplacementCharacter, text.substr(0, 1), false};
  const size_t length = sequence_length(static_cast<unsigned char>(text[0]));
  if (length == 0 || length > text.size()) return broken;
  constexpr unsigned char kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t value = static_cast<unsigned char>(text[0]) & kLeadBits[length];
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return broken;
    value = value << 6 | (byte & 0x3F);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return broken;
  return {value, text.substr(0, length), true};
}

std::vector<CodePoint> code_points(std::string_view text) {
  std::vector<CodePoint> points;
  while (!text.empty()) {
    points.push_back(first_code_point(text));
    text.remove_prefix(points.back().bytes.size());
  }
  return points;
}

std::optional<size_t> first_invalid_byte(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const CodePoint c = first_code_point(text.substr(at));
    if (!c.valid) return at;
    at += c.bytes.size();
  }
  return std::nullopt;
}

bool is_control(char32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0);
}

std::string without_controls(std::string_view text) {
  std::string harmless;
  for (const CodePoint& c : code_points(text)) {
    const bool acts = is_control(c.value) && c.value != '\n' && c.value != '\t';
    if (acts || !c.valid)
      append_code_point(harmless, kReplacementCharacter);
    else
      harmless += c.bytes;
  }
  return harmless;
}

size_t whole_characters(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;  // it is not the first of its character
    const size_t length = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

char* write_code_point(char* at, char32_t code_point) {
  const auto continuation = [&](int shift) {
    *at++ = static_cast<char>(0x80 | (code_point >> shift & 0x3f));
  };
  if (code_point < 0x80) {
    *at++ = static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    *at++ = static_cast<char>(0xc0 | code_point >> 6);
    continuation(0);
  } else if (code_point < 0x10000) {
    *at++ = static_cast<char>(0xe0 | code_point >> 12);
    continuation(6);
    continuation(0);
  } else {
    *at++ = static_cast<char>(0xf0 | code_point >> 18);
    continuation(12);
    continuation(6);
    continuation(0);
  }
  return at;
}

void append_code_point(std::string& text, char32_t code_point) {
  char bytes[4];
  text.append(bytes, write_code_point(bytes, code_point));
}

std::string code_point_name(char32_t code_point) {
  char name[16];
  std::snprintf(name, sizeof name, "U+%04X", static_cast<unsigned>(code_point));
  return name;
}

std::string shown_character(char32_t code_point) {
  if (is_control(code_point) || display_width(code_point) == 0) return code_point_name(code_point);
  std::string text = "'";
  append_code_point(text, code_point);
  return text + '\'';
}

std::string to_valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    append_code_point(valid, c.value);
    text.remove_prefix(c.bytes.size());
  }
  return valid;
}

std::string_view first_bytes(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (text[most] & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

int display_width(char32_t c) {
  if (in(kCombining, c)) return 0;
  return in(kWide, c) ? 2 : 1;
}

size_t display_width(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_ascii)) return text.size();
  size_t width = 0;
  for (; !text.empty(); text.remove_prefix(first_code_point(text).bytes.size()))
    width += static_cast<size_t>(display_width(first_code_point(text).value));
  return width;
}

}  // namespace exprun
