#include "recipe/toml_quotes.h"

#include <charconv>
#include <cstdio>

namespace exprun {
namespace {

struct Escape {
  char letter;
  char character;
};

constexpr Escape kEscapes[] = {{'"', '"'}, {'\\', '\\'}, {'n', '\n'}, {'t', '\t'}, {'r', '\r'}};

void append_escaped(std::string& text, char c) {
  for (const Escape& escape : kEscapes)
    if (escape.character == c) {
      text += {'\\', escape.letter};
      return;
    }
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte != 0x7f) {
    text += c;
    return;
  }
  char buffer[8];
  std::snprintf(buffer, sizeof buffer, "\\u%04X", byte);
  text += buffer;
}

// The character of an escape, whose backslash is taken from the front already.
std::optional<char> take_escape(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const char letter = text.front();
  text.remove_prefix(1);
  for (const Escape& escape : kEscapes)
    if (escape.letter == letter) return escape.character;
  unsigned byte = 0;
  const std::string_view digits = text.substr(0, 4);
  const auto read = std::from_chars(digits.begin(), digits.end(), byte, 16);
  const bool is_byte = digits.size() == 4 && read.ptr == digits.end() && byte < 0x80;
  if (letter != 'u' || !is_byte) return std::nullopt;
  text.remove_prefix(digits.size());
  return static_cast<char>(byte);
}

}  // namespace

std::string toml_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) append_escaped(result, c);
  return result + "\"";
}

std::optional<std::string> toml_unquoted(std::string_view text) {
  if (text.empty() || text.front() != '"' || end_of_quoted(text, 0) != text.size())
    return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string result;
  while (!text.empty()) {
    char c = text.front();
    text.remove_prefix(1);
    if (c == '\\') {
      const std::optional<char> escape = take_escape(text);
      if (!escape) return std::nullopt;
      c = *escape;
    }
    result += c;
  }
  return result;
}

size_t end_of_quoted(std::string_view text, size_t at) {
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == quote) return at + 1;
    if (text[at] == '\\' && quote == '"') ++at;
  }
  return text.npos;
}

}  // namespace exprun
