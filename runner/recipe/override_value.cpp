#include "recipe/override_value.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/format_units.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/recipe_text.h"
#include "recipe/schema/number_advice.h"
#include "recipe/schema/validate_value.h"
#include "recipe/toml/parse.h"
#include "recipe/toml/write.h"

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

// One element of a bare list, from `at` on: a quoted one is TOML. Its end is the comma after it,
// or `end`; nothing, and the reason, if it cannot be read.
std::optional<size_t> read_element(const File& file, size_t at, size_t end, Array& array,
                                   Diagnostics& diagnostics) {
  const std::string_view text = std::string_view(file->text).substr(0, end);
  const size_t first = std::min(text.find_first_not_of(' ', at), end);
  const bool quoted = first < end && (text[first] == '"' || text[first] == '\'');
  const size_t close = quoted ? end_of_quoted(text, first) : first;
  const size_t comma = std::min(text.find(',', std::min(close, end)), end);
  const std::string_view word = trimmed(text.substr(first, comma - first));
  if (close == text.npos)
    diagnostics.push_back({span_of(file, first, 1), "the closing quote is missing"});
  else if (word.empty() && comma < end)
    diagnostics.push_back({span_of(file, comma, 1), "a value is missing next to a comma",
                           "write \"\" for an empty string"});
  else if (!quoted && !word.empty())
    array.push_back(bare(file, first, word.size()));
  else if (quoted)
    if (auto value = parse_toml_value(file, first, word.size(), Origin::command_line, diagnostics))
      array.push_back(std::move(*value));
  return has_errors(diagnostics) ? std::nullopt : std::optional(comma);
}

// [a,b] for an array of strings.
std::optional<Value> bare_list(const File& file, size_t begin, Diagnostics& diagnostics) {
  Array array;
  Diagnostics found;
  const size_t end = file->text.size() - 1;
  for (size_t at = begin + 1; at < end; ++at) {
    const auto comma = read_element(file, at, end, array, found);
    if (!comma) break;
    at = *comma;
  }
  diagnostics.insert(diagnostics.end(), found.begin(), found.end());
  if (!found.empty()) return std::nullopt;
  return Value(std::move(array), span_of(file, begin, end + 1 - begin), Origin::command_line);
}

bool may_be_text(const Schema& schema) {
  return allows_type(schema, "string") && schema.value("pattern", "") != "^auto$";
}

// Where a backslash stands that TOML would read, with what follows, as one character.
size_t find_escape(std::string_view text) {
  size_t at = text.find('\\');
  while (at != text.npos && (at + 1 == text.size() || !std::strchr("bfnrtuU\"\\", text[at + 1])))
    at = text.find('\\', at + 1);
  return at;
}

// A shell hands "\n" on as it is, and nobody means those two characters without saying so.
Value bare_text(const File& file, size_t begin, const Schema& schema, Diagnostics& diagnostics) {
  const std::string text = file->text.substr(begin);
  const size_t escape = schema.contains("x-path") ? text.npos : find_escape(text);
  if (escape != text.npos)
    diagnostics.push_back(
        {span_of(file, begin + escape, 2),
         "'" + text.substr(escape, 2) + "' is two characters in a value without quotes",
         "write '\"" + text + "\"' for the TOML escape, or \"'" + text +
             "'\" for a literal backslash"});
  return bare(file, begin, text.size());
}

// Nothing but text: what could be a number or a boolean is read as TOML first.
bool takes_text(const Schema& schema) {
  return may_be_text(schema) && !allows_type(schema, "number") && !allows_type(schema, "boolean");
}

bool takes_list_of_text(const Schema& schema) {
  return allows_type(schema, "array") && schema.contains("items") &&
         allows_type(schema["items"], "string");
}

// Text for a list of them: what is missing around it is said when it is checked.
bool is_one_text(std::string_view text, const Schema& schema) {
  return takes_list_of_text(schema) && text.find_first_of(",=\"'([{") == text.npos;
}

// Of a value with something after it: "3e-4 steps=5", which the shell has joined to one word, or
// "100 steps" for a number of them.
std::string help_for_more_words(std::string_view text, const Schema& schema) {
  const size_t end = text.find(' ');
  if (end == text.npos || text.find_first_of("\"'[{") != text.npos) return "";
  if (text.find('=', end) != text.npos) return "write each override as a word of its own";
  const bool has_unit = is_word(text.substr(end + 1)) && parse_number<double>(text.substr(0, end));
  const bool takes_number = allows_type(schema, "integer") || allows_type(schema, "number");
  return has_unit && takes_number ? "a number is needed, without a unit" : "";
}

bool is_valid(const Schema& schema, const std::string& text) {
  Diagnostics diagnostics;
  const auto value = read_override_value(override_file(1, "x=" + text), 2, schema, diagnostics);
  if (value) validate_value("x", schema, *value, diagnostics);
  return value && !has_errors(diagnostics);
}

// "every" of "checkpoint.every=1k".
std::string key_before(const std::string& text, size_t value_begin) {
  const std::string_view written = std::string_view(text).substr(0, value_begin);
  std::string key(trimmed(written.substr(0, written.find('='))));
  if (key.starts_with('+')) key.erase(0, 1);
  return last_part(key);
}

// ["a", "b"] of "a,b".
std::string list_of_texts(std::string_view text) {
  std::string list;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    list += (at == 0 ? "" : ", ") + toml_quoted(trimmed(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return '[' + list + ']';
}

// "[a,b]" of "a,b"; the whole change, in quotes, where a shell would take those of its values away.
std::string as_array(const File& file, size_t begin, std::string_view text, const Schema& schema) {
  const std::string values(text), bare = '[' + values + ']';
  if (shell_quoted(values) == values && is_valid(schema, bare)) return bare;
  const bool is_quoted = text.find_first_of("\"'") != text.npos;
  return shell_quoted(file->text.substr(0, begin) +
                      (takes_list_of_text(schema) && !is_quoted ? list_of_texts(text) : bare));
}

}  // namespace

std::optional<Value> read_override_value(const File& file, size_t begin, const Schema& schema,
                                         Diagnostics& diagnostics) {
  const std::string_view text = std::string_view(file->text).substr(begin);
  const char first = text.empty() ? '\0' : text.front();
  const bool quoted = first == '"' || first == '\'';
  const bool list = first == '[' && allows_type(schema, "array");
  if (takes_text(schema) && !quoted && !list) return bare_text(file, begin, schema, diagnostics);
  if (text.empty()) {
    diagnostics.push_back({span_of(file, begin, 0), "a value is missing after '='"});
    return std::nullopt;
  }
  Diagnostics syntax;
  std::optional<Value> value =
      parse_toml_value(file, begin, text.size(), Origin::command_line, syntax);
  if (value) return value;
  if (list && takes_list_of_text(schema) && text.back() == ']')
    return bare_list(file, begin, diagnostics);
  if (is_word(text) || may_be_text(schema) || is_one_text(text, schema) ||
      allows_type(schema, "object"))
    if (first != '{' && !list) return bare(file, begin, text.size());
  const bool makes_several = foreign_range(text) || is_bare_interval(text) ||
                             text.starts_with("range(") || text.starts_with("choice(") ||
                             text.starts_with("log:");
  if (makes_several || (text.find(',') != text.npos && first != '[' && first != '{'))
    syntax = {{span_of(file, begin, text.size()), "one value is needed, not several",
               is_bare_interval(text) ? "`exprun sweep` takes several, as in range(1,5)"
               : makes_several        ? "`exprun sweep` takes several"
                                      : "`exprun sweep` runs each of them"}};
  if (allows_type(schema, "array") && text.find(',') != text.npos && first != '[' && !makes_several)
    syntax = {{span_of(file, begin, text.size()), "this is not an array",
               "write " + as_array(file, begin, text, schema)}};
  if (first == '(' && text.back() == ')' && allows_type(schema, "array"))
    syntax = {{span_of(file, begin, text.size()), "this is not an array",
               "write " + as_array(file, begin, text.substr(1, text.size() - 2), schema)}};
  if (const auto help = help_for_more_words(text, schema); !help.empty() && !syntax.empty())
    syntax.back().help = help;
  const bool is_one_word = text.find_first_of(" \"'[{") == text.npos;
  if (is_one_word && !syntax.empty() && syntax.back().help.empty()) {
    const char* const help = allows_type(schema, "integer")  ? "write it as in 100 or 1_000"
                             : allows_type(schema, "number") ? "write it as in 0.001 or 1e-3"
                                                             : "";
    if (*help) syntax = {{span_of(file, begin, text.size()), "this is not a number", help}};
  }
  if (number_meant(text))
    syntax = {unwritable_number(key_before(file->text, begin), schema,
                                span_of(file, begin, text.size()), std::string(text))};
  diagnostics.insert(diagnostics.end(), syntax.begin(), syntax.end());
  return std::nullopt;
}

std::optional<std::string> override_value_meant(const Schema& schema, const std::string& text,
                                                std::string unit) {
  std::vector<std::string> forms = {text};
  const Schema units = schema.value("x-period", Schema::array());
  if (unit.empty() && !units.empty()) unit = units.front();
  if (!units.empty()) forms.push_back('"' + text + ' ' + unit + '"');
  if (allows_type(schema, "array"))
    forms.push_back(takes_list_of_text(schema) ? list_of_texts(text) : '[' + text + ']');
  for (const std::string& form : forms)
    if (is_valid(schema, form)) return form;
  return std::nullopt;
}

}  // namespace exprun
