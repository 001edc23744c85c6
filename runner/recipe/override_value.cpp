#include "recipe/override_value.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "recipe/toml_source.h"
#include "recipe/validate_value.h"

namespace exprun {
namespace {

using File = std::shared_ptr<const SourceFile>;

Value bare(const File& file, size_t begin, size_t size) {
  return Value(file->text.substr(begin, size), span_of(file, begin, size), Origin::command_line);
}

// A word that is meant as text, if not as TOML: auto, abc.
bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
  });
}

// [a,b] for an array of strings.
Value bare_list(const File& file, size_t begin) {
  Array array;
  const size_t end = file->text.size() - 1;
  for (size_t at = begin + 1; at < end;) {
    size_t comma = std::min(file->text.find(',', at), end);
    size_t first = std::min(file->text.find_first_not_of(' ', at), comma);
    size_t last = comma;
    while (last > first && file->text[last - 1] == ' ') --last;
    array.push_back(bare(file, first, last - first));
    at = comma + 1;
  }
  return Value(std::move(array), span_of(file, begin, end + 1 - begin), Origin::command_line);
}

bool may_be_text(const Schema& schema) {
  return allows_type(schema, "string") && schema.value("pattern", "") != "^auto$";
}

// Nothing but text: what could be a number or a boolean is read as TOML first.
bool takes_text(const Schema& schema) {
  return may_be_text(schema) && !allows_type(schema, "number") && !allows_type(schema, "boolean");
}

bool takes_list_of_text(const Schema& schema) {
  return allows_type(schema, "array") && schema.contains("items") &&
         allows_type(schema["items"], "string");
}

}  // namespace

std::optional<Value> read_override_value(const File& file, size_t begin, const Schema& schema,
                                         Diagnostics& diagnostics) {
  const std::string_view text = std::string_view(file->text).substr(begin);
  const char first = text.empty() ? '\0' : text.front();
  const bool quoted = first == '"' || first == '\'';
  const bool list = first == '[' && allows_type(schema, "array");
  if (takes_text(schema) && !quoted && !list) return bare(file, begin, text.size());
  if (text.empty()) {
    diagnostics.push_back({span_of(file, begin, 0), "a value is missing behind '='"});
    return std::nullopt;
  }
  Diagnostics syntax;
  std::optional<Value> value = parse_toml_value(file, begin, Origin::command_line, syntax);
  if (value) return value;
  if (list && takes_list_of_text(schema) && text.back() == ']') return bare_list(file, begin);
  if (is_word(text) || may_be_text(schema)) return bare(file, begin, text.size());
  if (text.find(',') != text.npos && first != '[' && first != '{')
    syntax = {{span_of(file, begin, text.size()), "one value is needed, not several",
               "`exprun sweep` runs each of them"}};
  diagnostics.insert(diagnostics.end(), syntax.begin(), syntax.end());
  return std::nullopt;
}

}  // namespace exprun
