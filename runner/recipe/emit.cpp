#include "recipe/emit.h"

#include "base/number.h"
#include "recipe/key_path.h"
#include "recipe/toml_quotes.h"

namespace exprun {
namespace {

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
