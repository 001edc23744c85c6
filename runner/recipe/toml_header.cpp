#include "recipe/toml_header.h"

#include <toml++/toml.h>

#include <algorithm>
#include <string>
#include <vector>

namespace exprun {
namespace {

std::string_view from_line(std::string_view text, uint32_t line) {
  for (uint32_t i = 1; i < line; ++i)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);  // 0 of an empty text
  return text;
}

std::string_view above_line(std::string_view text, uint32_t line) {
  return text.substr(0, text.size() - from_line(text, line).size());
}

std::optional<toml::table> parsed(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

// [a.b] alone is a table of one key in a table of one key.
std::vector<toml::key> keys_of(std::string_view header) {
  std::vector<toml::key> keys;
  const auto alone = parsed(header);
  const toml::table* table = alone ? &*alone : nullptr;
  while (table && !table->empty()) {
    keys.push_back(table->begin()->first);
    table = table->begin()->second.as_table();
  }
  return keys;
}

// What the first keys of a header stand for above it.
struct Found {
  const toml::node* node;
  std::string name;
  uint32_t line = 0;        // that sets it
  bool of_headers = false;  // an array of [[...]]

  // A header adds to the last table of [[...]].
  const toml::table* table() const {
    const toml::array* array = node->as_array();
    return array && of_headers ? array->back().as_table() : node->as_table();
  }
};

Diagnostic explain(const Found& found, const SourceSpan& where) {
  return {where,
          "'" + found.name + "' is " + (found.of_headers ? "an array of tables" : "a value") +
              " already, and no table",
          "first on line " + std::to_string(found.line)};
}

}  // namespace

bool is_header(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '[';
}

std::optional<Diagnostic> explain_obstacle(const SourceSpan& stopped) {
  const std::string_view text = stopped.file->text;
  SourceSpan where = stopped;
  auto above = parsed(above_line(text, where.line));
  if (!above && stopped.column == 1) above = parsed(above_line(text, --where.line));
  if (!above) return std::nullopt;
  const std::string_view header = from_line(text, where.line);
  Found found{&*above, ""};
  where.length = 0;
  for (const toml::key& key : keys_of(above_line(header, 2))) {
    const toml::table* table = found.table();
    if (!table) return explain(found, where);
    const auto next = table->find(key.str());
    if (next == table->end()) return std::nullopt;
    found.node = &next->second;
    found.name += (found.name.empty() ? "" : ".") + std::string(key.str());
    found.line = next->first.source().begin.line;
    found.of_headers = is_header(from_line(text, found.line));
    if (where.length == 0) where.column = key.source().begin.column;
    where.length = key.source().end.column - where.column;
  }
  if (found.node->is_table()) return std::nullopt;
  return explain(found, where);
}

}  // namespace exprun
