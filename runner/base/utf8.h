// UTF-8 (RFC 3629) as code points: what the columns of diagnostics count and char tokens stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exprun {

// Stands for what is no character.
inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// How many Unicode has room for.
inline constexpr size_t kCodePoints = 0x110000;

struct CodePoint {
  char32_t value = kReplacementCharacter;
  std::string_view bytes;  // a part of the text; one byte where it is broken
  bool valid = false;
};

// What a text that is not empty begins with.
CodePoint first_code_point(std::string_view text);

// Never fails: a byte that is no UTF-8 is a code point that is not valid.
std::vector<CodePoint> code_points(std::string_view text);

// The offset of the first byte that is no UTF-8, or nothing.
std::optional<size_t> first_invalid_byte(std::string_view text);

// C0, DEL and C1: a terminal acts on them.
bool is_control(char32_t code_point);

// Every control character but line ends and tabs, and every byte that is no UTF-8, becomes U+FFFD:
// fit for a terminal.
std::string without_controls(std::string_view text);

// The bytes before a character at the end that is not complete yet.
size_t whole_characters(std::string_view text);

// At most four bytes. Returns their end.
char* write_code_point(char* at, char32_t code_point);
void append_code_point(std::string& text, char32_t code_point);

// "U+00C4"
std::string code_point_name(char32_t code_point);

// "'Ä'", or "U+FEFF" of one that nobody would see.
std::string shown_character(char32_t code_point);

// Every byte that is no UTF-8 becomes U+FFFD: fit to show and for JSON.
std::string to_valid_utf8(std::string_view text);

// As much of the beginning as so many bytes hold, in whole code points.
std::string_view first_bytes(std::string_view text, size_t most);

// Columns of a terminal: 0 for combining marks, 2 for wide East Asian characters and emoji.
int display_width(char32_t c);
size_t display_width(std::string_view text);

}  // namespace exprun
