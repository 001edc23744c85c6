#include "recipe/schema/number_advice.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "base/format_units.h"
#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/validate_value.h"
#include "recipe/toml/parse.h"
#include "recipe/value.h"

namespace exprun {
namespace {

Value number_value(const std::string& number, const SourceSpan& where) {
  if (const auto integer = parse_number<int64_t>(number))
    return Value(*integer, where, Origin::file);
  return Value(*parse_number<double>(number), where, Origin::file);
}

// The text with a number in place of the value, so that it is TOML; nothing if even what stands
// above and on its line is none.
std::optional<Table> readable(const SourceFile& file, size_t begin, size_t size) {
  std::string text = file.text;
  text.replace(begin, size, "0");
  const size_t behind = std::min(text.find('\n', begin), text.size());
  for (const std::string& part : {text, text.substr(0, behind)}) {
    Diagnostics ignored;
    auto root = parse_toml(std::make_shared<SourceFile>(SourceFile{file.name, part}), Origin::file,
                           ignored);
    if (root) return root;
  }
  return std::nullopt;
}

// Of the key whose value stands on the line; empty if none does.
std::string path_on_line(const Table& table, uint32_t line, const std::string& path = "") {
  for (const Entry& entry : table.entries()) {
    const std::string here = join_path(path, entry.key);
    if (const Table* const inner = entry.value.as<Table>()) {
      if (std::string found = path_on_line(*inner, line, here); !found.empty()) return found;
    } else if (entry.value.where.line == line) {
      return here;
    }
  }
  return "";
}

}  // namespace

Diagnostic unwritable_number(const std::string& key, const Schema& schema, const SourceSpan& where,
                             const std::string& text) {
  const std::string number = *number_meant(text);
  Diagnostics why_not;
  validate_value(key, schema, number_value(number, where), why_not);
  if (!why_not.empty()) return why_not.front();
  return {where, "'" + text + "' is not a number", "write " + number};
}

std::optional<Diagnostic> unwritable_number_at(const std::shared_ptr<const SourceFile>& file,
                                               size_t begin, size_t size) {
  const std::string text = file->text.substr(begin, size);
  if (!number_meant(text)) return std::nullopt;
  const auto root = readable(*file, begin, size);
  if (!root) return std::nullopt;
  const SourceSpan where = span_of(file, begin, size);
  const std::string path = path_on_line(*root, where.line);
  const Schema* const schema = schema_at(SchemaSet::embedded(), *root, path);
  if (schema == nullptr) return std::nullopt;
  return unwritable_number(last_part(path), *schema, where, text);
}

}  // namespace exprun
