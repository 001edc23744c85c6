#include "recipe/toml/explain_error.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format_units.h"
#include "base/period.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

bool is_header(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '[';
}

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
          "'" + found.name + "' is already " +
              (found.of_headers ? "an array of tables" : "a value") + ", not a table",
          "first given on line " + std::to_string(found.line)};
}

// What to say of a header that would make a table of what is none; nothing if no value is in its
// way. `stopped` is where toml++ refused it: there, or after its line, which is the first column
// of the next.
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

struct Hint {
  std::string_view cause;  // a part of toml++'s text
  const char* help;
};

constexpr Hint kHints[] = {
    {"could not determine value type", "put text in quotes"},
    {"expected 'true'", "booleans are true and false, in lower case"},
    {"expected 'false'", "booleans are true and false, in lower case"},
    {"expected '='", "write key = value"},
    {"control characters", "is the closing quote missing?"},
    {"array: encountered end-of-file", "is the closing ']' missing?"},
    {"inline table: encountered end-of-file", "is the closing '}' missing?"},
    {"string: encountered end-of-file", "is the closing quote missing?"},
    {"expected comma or closing ']'", "is a comma or the closing ']' missing?"},
    {"unknown escape sequence", "write \\\\ for a backslash, or use single quotes"},
    {"expected key or closing '}'", "an inline table must be on one line"},
    {"expected decimal digit, saw '.'", "write a digit before the point"},
    {"existing table as dotted", "add the key there"},
    {"leading zeroes", "write the number without them"},
    {"expected 4-digit year", "write a number as in 0.001 or 1e-3"},
};

// toml++'s words, and ours where they are clearer.
struct Wording {
  std::string_view theirs;
  const char* ours;
};

constexpr Wording kWordings[] = {
    {"could not determine value type", "this is not a TOML value"},
    {"expected value", "a value is missing"},
    {"expected 4-digit year", "this is not a TOML value"},
    {"expected a comment or whitespace", "the line must end after the value"},
    {"control characters other than TAB", "the string does not end on this line"},
    {"encountered end-of-file", "the input ends too early"},
    {"existing table as dotted", "the table of this key is already defined above"},
};

std::string_view line_of(std::string_view text, uint32_t line) {
  for (uint32_t i = 1; i < line; ++i) text.remove_prefix(text.find('\n') + 1);
  return text.substr(0, text.find('\n'));
}

// The last whole word `name` of the line, as a column from 1; 0 if there is none.
uint32_t column_of_word(std::string_view line, std::string_view name) {
  for (size_t at = line.rfind(name); at != std::string_view::npos && !name.empty();
       at = at == 0 ? std::string_view::npos : line.rfind(name, at - 1)) {
    const size_t end = at + name.size();
    const bool starts = at == 0 || !is_bare_key_character(line[at - 1]);
    const bool ends = end == line.size() || !is_bare_key_character(line[end]);
    if (starts && ends) return static_cast<uint32_t>(at + 1);
  }
  return 0;
}

// "cannot redefine existing integer 'lr'" -> "lr"; toml++ points after the key.
std::string_view name_in(std::string_view description, std::string_view problem) {
  if (description.find(problem) == std::string_view::npos) return {};
  const size_t open = description.find('\'');
  if (open == std::string_view::npos) return {};
  return description.substr(open + 1, description.find('\'', open + 1) - open - 1);
}

std::vector<std::string_view> lines_above(std::string_view text, uint32_t line) {
  std::vector<std::string_view> lines;
  for (uint32_t i = 1; i < line; ++i) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), lines.back().size() + 1));
  }
  return lines;
}

// The line that first set the name: the same header, or the same key of this table. 0 if unknown.
uint32_t earlier_line(std::string_view text, uint32_t line, std::string_view name, bool header) {
  const std::vector<std::string_view> lines = lines_above(text, line);
  for (size_t i = lines.size(); i > 0; --i) {
    const std::string_view candidate = lines[i - 1];
    if (is_header(candidate) && !header) return 0;
    if (is_header(candidate) != header) continue;
    const std::string_view left = candidate.substr(0, candidate.find(header ? ']' : '='));
    if (column_of_word(left, name) != 0) return static_cast<uint32_t>(i);
  }
  return 0;
}

// Where `name = {` or `name.key =` stands before any header; 0 if it does not.
uint32_t line_of_key(std::string_view text, std::string_view name) {
  for (uint32_t line = 1; !text.empty() && !is_header(text); ++line) {
    const std::string_view candidate = text.substr(0, text.find('\n'));
    if (candidate.substr(0, candidate.find_first_of(" \t.=")) == name) return line;
    text.remove_prefix(std::min(text.size(), candidate.size() + 1));
  }
  return 0;
}

std::string_view header_name(std::string_view line) {
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t[")));
  return trimmed(line.substr(0, line.find(']')));
}

struct InlineTable {
  std::string name;
  uint32_t line = 0;  // 0 if it is not found
};

// The one that a header of this line and name would add to.
InlineTable inline_table_above(std::string_view text, uint32_t line, std::string_view name) {
  std::string header;
  uint32_t number = 0;
  for (const std::string_view candidate : lines_above(text, line)) {
    ++number;
    const size_t equals = std::min(candidate.size(), candidate.find('='));
    const std::string table = header + std::string(trimmed(candidate.substr(0, equals)));
    if (is_header(candidate))
      header = std::string(header_name(candidate)) + '.';
    else if (name.starts_with(table + '.') &&
             trimmed(candidate.substr(std::min(candidate.size(), equals + 1))).starts_with('{'))
      return {table, number};
  }
  return {std::string(name.substr(0, name.rfind('.')))};
}

// An inline table is whole, and toml++ points after the line of the header that would add to it.
Diagnostic into_inline(SourceSpan where) {
  const std::string_view text = where.file->text;
  const uint32_t line = where.column == 1 ? where.line - 1 : where.line;
  const std::string_view name = header_name(line_of(text, line));
  const InlineTable table = inline_table_above(text, line, name);
  return {span_of(where.file, static_cast<size_t>(name.data() - text.data()), name.size()),
          "'" + table.name + "' is an inline table, which a header cannot extend",
          (table.line == 0 ? "write" : "write line " + std::to_string(table.line) + " as") + " [" +
              table.name + "] with its keys below it"};
}

Diagnostic twice(SourceSpan where, std::string_view name) {
  const std::string_view line = line_of(where.file->text, where.line);
  const bool header = is_header(line);
  if (header) name = header_name(line);  // toml++ garbles one in quotes
  const std::string_view left = header ? line : line.substr(0, where.column - 1);
  if (const uint32_t column = column_of_word(left, name))
    where = {where.file, where.line, column, static_cast<uint32_t>(name.size())};
  uint32_t earlier = earlier_line(where.file->text, where.line, name, header);
  if (earlier == 0 && header) earlier = line_of_key(where.file->text, name);
  const std::string what =
      header ? "table [" + std::string(name) + "]" : "key '" + std::string(name) + "'";
  return {where, what + " is given twice",
          earlier == 0 ? "" : "first given on line " + std::to_string(earlier)};
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The value of the line in which parsing stopped; empty if it has none.
std::string_view value_of(const SourceSpan& stopped) {
  const std::string_view line = line_of(stopped.file->text, stopped.line);
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos || stopped.column <= equals + 1 || is_header(line))
    return {};
  return trimmed(line.substr(equals + 1, line.find('#') - equals - 1));
}

// The same if it is a word, a name, a path or a pattern that lacks its
// quotes; else empty. Parsing may go some way into "true", "inf" and "nan" before it stops.
std::string_view text_without_quotes(const SourceSpan& stopped) {
  const std::string_view value = value_of(stopped);
  const auto is_plain = [](char c) {
    return is_bare_key_character(c) ||
           std::string_view("./*?:@+%~").find(c) != std::string_view::npos;
  };
  const bool begins_as_word = !value.empty() && is_bare_key_character(value[0]) &&
                              !(value[0] >= '0' && value[0] <= '9') && value[0] != '-';
  const bool is_path = value.starts_with("./") || value.starts_with("../");
  if ((!begins_as_word && !is_path) || !std::all_of(value.begin(), value.end(), is_plain))
    return {};
  const bool is_value = is_one_of(value, {"inf", "nan"}) || nearest(value, {"true", "false"});
  return is_value ? std::string_view() : value;
}

// "1/300", "2**10": two numbers or more.
bool is_arithmetic(std::string_view value) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (value.empty() || !is_digit(value.front()) || !is_digit(value.back())) return false;
  return value.find_first_not_of("0123456789._eE+-*/^ ") == value.npos &&
         value.find_first_of("*/^") != value.npos;
}

// What is wrong with a whole value, and what to write instead; no message where only its parsing
// tells.
struct Verdict {
  std::string message, help;
};

// Without the quotes that a word processor or a web page makes of plain ones; nothing of any other
// value.
std::optional<std::string_view> in_typographic_quotes(std::string_view value) {
  for (const auto& [open, close] : {std::pair("“", "”"), {"‘", "’"}, {"„", "“"}, {"«", "»"}}) {
    if (!value.starts_with(open)) continue;
    value.remove_prefix(std::string_view(open).size());
    if (value.ends_with(close)) value.remove_suffix(std::string_view(close).size());
    return value;
  }
  return std::nullopt;
}

Verdict judge(std::string_view value) {
  if (const auto inner = in_typographic_quotes(value)) {
    const bool needs_none = parse_number<double>(*inner) || is_one_of(*inner, {"true", "false"});
    return {"these quotes are typographic, which TOML does not know",
            "write " + (needs_none ? std::string(*inner) : toml_quoted(*inner))};
  }
  if (const auto number = number_meant(value))
    return {"'" + std::string(value) + "' is not a number", "write " + *number};
  if (value.find(' ') != value.npos && parse_period(value))
    return {"this is not a TOML value", "write \"" + std::string(value) + "\""};
  if (is_arithmetic(value))
    return {"'" + std::string(value) + "' is not a number",
            "TOML has no arithmetic: write the result"};
  if (value.starts_with('(') && value.ends_with(')'))
    return {"this is not a TOML value",
            "write [" + std::string(value.substr(1, value.size() - 2)) + "]"};
  if (value.starts_with("${") && value.find('/') == value.npos && !value.starts_with("${env:"))
    return {"this is not a TOML value", kNoVariables};
  return {};
}

// "Error while parsing value: could not ..." -> "could not ..."
std::string message_of(std::string_view description) {
  for (const Wording& wording : kWordings)
    if (description.find(wording.theirs) != std::string_view::npos) return wording.ours;
  constexpr std::string_view kPrefix = "Error while parsing ";
  if (description.starts_with(kPrefix)) description.remove_prefix(description.find(": ") + 2);
  std::string message(description);
  constexpr std::string_view kLineEnd = "saw '\\n'";
  if (const size_t at = message.find(kLineEnd); at != std::string::npos)
    message.replace(at, kLineEnd.size(), "but the line ends");
  constexpr std::string_view kSaw = ", saw ";
  if (const size_t at = message.find(kSaw); at != std::string::npos)
    message.replace(at, kSaw.size(), ", found ");
  return message;
}

}  // namespace

Diagnostic explain_toml_error(const std::shared_ptr<const SourceFile>& file, uint32_t line,
                              uint32_t column, std::string_view description,
                              const ValueJudge& value_judge) {
  const SourceSpan where{file, line, column, 1};
  if (const auto name = name_in(description, "cannot redefine existing"); !name.empty()) {
    const bool by_header =
        description.ends_with("as table") || description.ends_with("as array-of-tables");
    const auto obstacle = by_header ? explain_obstacle(where) : std::nullopt;
    return obstacle ? *obstacle : twice(where, name);
  }
  if (description.ends_with("into existing inline table")) return into_inline(where);
  const bool at_the_end = description.find("end-of-file") != std::string_view::npos;
  if (const std::string_view bare = text_without_quotes(where); !at_the_end && !bare.empty())
    return {span_of(file, static_cast<size_t>(bare.data() - file->text.data()), bare.size()),
            "this is not a TOML value",
            is_no_value(bare) ? "TOML has no such value: leave the key out" : "put text in quotes"};
  if (const std::string_view value = value_of(where); !value.empty()) {
    const auto begin = static_cast<size_t>(value.data() - file->text.data());
    if (const auto said = value_judge ? value_judge(begin, value.size()) : std::nullopt)
      return *said;
    if (const Verdict verdict = judge(value); !verdict.message.empty())
      return {span_of(file, begin, value.size()), verdict.message, verdict.help};
    if (description.find("not representable in 64 bits") != std::string_view::npos)
      return {span_of(file, begin, value.size()), "'" + std::string(value) + "' is too large",
              "the largest integer is " + std::to_string(std::numeric_limits<int64_t>::max())};
  }
  std::string help;
  for (const Hint& hint : kHints)
    if (help.empty() && description.find(hint.cause) != std::string_view::npos) help = hint.help;
  return {where, message_of(description), help};
}

}  // namespace exprun
