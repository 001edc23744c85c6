#include "recipe/toml/parse.h"

#include <toml++/toml.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/utf8.h"
#include "recipe/key_path.h"

namespace exprun {
namespace {

// How deep keys are is asked before TOML is parsed: parsers and trees recurse. A recipe's keys have
// at most five parts.
constexpr size_t kMostKeyParts = 32;

// Tables and arrays within each other; also toml++'s limit for values.
constexpr size_t kDeepestValue = 256;

bool may_be_in_key(char c) {
  return is_bare_key_character(c) || c == ' ' || c == '\t';
}

// The last character of the quoted text that begins at `at`; of its line if it has no end.
size_t last_of_quoted(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  if (text.substr(at, 3) == three) {
    const size_t close = text.find(three, at + 3);
    return close == text.npos ? text.size() : close + 2;
  }
  for (++at; at < text.size() && text[at] != quote && text[at] != '\n'; ++at)
    if (text[at] == '\\' && quote == '"') ++at;
  return at;
}

// Where a key or a header of more than kMostKeyParts parts begins; nothing if none does.
std::optional<size_t> find_long_key(std::string_view text) {
  size_t begin = 0, parts = 1;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = last_of_quoted(text, at);
    } else if (c == '.') {
      if (++parts > kMostKeyParts) return begin;
    } else if (!may_be_in_key(c)) {
      if (c == '#') at = std::min(text.find('\n', at), text.size());
      begin = at + 1;
      parts = 1;
    }
  }
  return std::nullopt;
}

// Turns toml++'s tree into ours. It iterates by name, so entries are sorted by place.
class Converter {
 public:
  Converter(std::shared_ptr<const SourceFile> file, Origin origin, Diagnostics& diagnostics)
      : file_(std::move(file)), origin_(origin), diagnostics_(diagnostics) {}

  Table table(const toml::table& from) {
    Table to;
    to.where = span(from.source());
    if (is_too_deep(to.where)) return to;
    ++depth_;
    for (const auto& [key, node] : from) {
      Value value = convert(node);
      to.entries().push_back({std::string(key.str()), span(key.source()), std::move(value)});
    }
    std::sort(to.entries().begin(), to.entries().end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
    });
    --depth_;
    return to;
  }

  Value convert(const toml::node& node) { return Value(data(node), span(node.source()), origin_); }

 private:
  bool is_too_deep(const SourceSpan& where) {
    if (depth_ < kDeepestValue) return false;
    diagnostics_.push_back(
        {where, "tables are nested more than " + std::to_string(kDeepestValue) + " levels deep"});
    return true;
  }

  Value::Data data(const toml::node& node) {
    if (const auto* value = node.as_boolean()) return value->get();
    if (const auto* value = node.as_integer()) return value->get();
    if (const auto* value = node.as_floating_point()) return value->get();
    if (const auto* value = node.as_string()) return value->get();
    if (const auto* value = node.as_table()) return table(*value);
    if (const auto* value = node.as_array()) return array(*value);
    diagnostics_.push_back(
        {span(node.source()), "recipes cannot contain dates or times", "put the text in quotes"});
    return std::string();
  }

  Array array(const toml::array& from) {
    Array to;
    for (const toml::node& node : from) to.push_back(convert(node));
    return to;
  }

  SourceSpan span(const toml::source_region& region) const {
    const bool one_line = region.begin.line == region.end.line;
    const uint32_t length = one_line ? region.end.column - region.begin.column : 1;
    return {file_, region.begin.line, region.begin.column, std::max<uint32_t>(length, 1)};
  }

  std::shared_ptr<const SourceFile> file_;
  Origin origin_;
  Diagnostics& diagnostics_;
  size_t depth_ = 0;  // of tables
};

// What toml++ would explain badly, or not at all.
bool is_text(const std::shared_ptr<const SourceFile>& file, Diagnostics& diagnostics) {
  if (file->text.find('\0') != std::string::npos) {
    diagnostics.push_back({{file, 0, 0, 0}, "this is a binary file, not a recipe", ""});
    return false;
  }
  const std::optional<size_t> broken = first_invalid_byte(file->text);
  if (broken)
    diagnostics.push_back(
        {span_of(file, *broken, 1), "this is not UTF-8", "save the file as UTF-8"});
  return !broken;
}

std::optional<toml::table> parse(const std::shared_ptr<const SourceFile>& file,
                                 std::string_view text, Diagnostics& diagnostics,
                                 const ValueJudge& value_judge = {}) {
  if (!is_text(file, diagnostics)) return std::nullopt;
  if (const auto begin = find_long_key(text)) {
    diagnostics.push_back({span_of(file, std::min(*begin, file->text.size()), 1),
                           "a key has more than " + std::to_string(kMostKeyParts) + " parts"});
    return std::nullopt;
  }
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    diagnostics.push_back(
        explain_toml_error(file, at.line, at.column, error.description(), value_judge));
    return std::nullopt;
  }
}

}  // namespace

std::optional<Table> parse_toml(const std::shared_ptr<const SourceFile>& file, Origin origin,
                                Diagnostics& diagnostics, const ValueJudge& value_judge) {
  const std::optional<toml::table> tree = parse(file, file->text, diagnostics, value_judge);
  if (!tree) return std::nullopt;
  const size_t before = diagnostics.size();
  Table table = Converter(file, origin, diagnostics).table(*tree);
  if (diagnostics.size() > before) return std::nullopt;
  return table;
}

std::optional<Value> parse_toml_value(const std::shared_ptr<const SourceFile>& file, size_t begin,
                                      size_t size, Origin origin, Diagnostics& diagnostics) {
  // A key of the same width in front keeps every place.
  const std::string front = file->text.substr(0, begin);
  std::string document = "x" +
                         std::string(std::max<size_t>(code_points(front).size(), 2) - 2, ' ') +
                         "=" + file->text.substr(begin, size);
  const std::optional<toml::table> tree = parse(file, document, diagnostics);
  if (!tree) return std::nullopt;
  const size_t before = diagnostics.size();
  Converter converter(file, origin, diagnostics);
  if (tree->size() == 1) {
    Value value = converter.convert(*tree->get("x"));
    if (diagnostics.size() == before) return value;
    return std::nullopt;
  }
  const Table table = converter.table(*tree);
  diagnostics.push_back({table.entries()[1].where,
                         "a value must be on one line, but a second line follows",
                         "write it as a separate override"});
  return std::nullopt;
}

}  // namespace exprun
