#include "recipe/toml/write.h"

#include <charconv>
#include <cstdio>

#include "base/format_units.h"
#include "recipe/key_path.h"

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

std::string float_text(double value) {
  std::string text = shortest(value);
  const bool whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return whole ? text + ".0" : text;
}

std::string array_text(const Array& array) {
  std::string text = "[";
  for (size_t i = 0; i < array.size(); ++i) text += (i > 0 ? ", " : "") + toml_text(array[i]);
  return text + "]";
}

std::string inline_table_text(const Table& table) {
  std::string text = "{";
  for (const Entry& entry : table.entries())
    text +=
        (text.size() > 1 ? ", " : "") + join_path("", entry.key) + " = " + toml_text(entry.value);
  return text + "}";
}

void append_table(std::string& document, const std::string& path, const Table& table) {
  std::string keys;
  for (const Entry& entry : table.entries())
    if (entry.value.as<Table>() == nullptr)
      keys += join_path("", entry.key) + " = " + toml_text(entry.value) + "\n";
  if (!keys.empty()) document += (document.empty() ? "[" : "\n[") + path + "]\n" + keys;
  for (const Entry& entry : table.entries())
    if (const Table* inner = entry.value.as<Table>())
      append_table(document, join_path(path, entry.key), *inner);
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

std::string toml_text(const Value& value) {
  if (const auto* flag = value.as<bool>()) return *flag ? "true" : "false";
  if (const auto* integer = value.as<int64_t>()) return std::to_string(*integer);
  if (const auto* real = value.as<double>()) return float_text(*real);
  if (const auto* text = value.as<std::string>()) return toml_quoted(*text);
  if (const auto* array = value.as<Array>()) return array_text(*array);
  return inline_table_text(*value.as<Table>());
}

std::string toml_document(const Table& root) {
  std::string document;
  for (const Entry& entry : root.entries())
    if (const Table* table = entry.value.as<Table>()) append_table(document, entry.key, *table);
  return document;
}

}  // namespace exprun
