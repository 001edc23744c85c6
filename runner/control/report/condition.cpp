#include "control/report/condition.h"

#include <algorithm>
#include <cmath>
#include <compare>

#include "base/diagnostic.h"
#include "base/strings.h"
#include "control/report/runs_table.h"
#include "recipe/toml/parse.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

// Whole numbers exactly, beyond 2^53 too.
std::partial_ordering compared(const Cell& a, const Cell& b) {
  const auto* x = std::get_if<int64_t>(&a.value);
  const auto* y = std::get_if<int64_t>(&b.value);
  return x && y ? *x <=> *y : *a.as_number() <=> *b.as_number();
}

bool is_nan(const Cell& cell) {
  const auto* number = std::get_if<double>(&cell.value);
  return number && std::isnan(*number);
}

void make_real(Value& value) {
  if (const auto* integer = value.as<int64_t>()) value.data = static_cast<double>(*integer);
  if (auto* array = value.as<Array>())
    for (Value& item : *array) make_real(item);
}

// An array in one spelling: blanks and the points of whole numbers make no difference.
std::string in_one_spelling(const std::string& text) {
  if (!text.starts_with('[')) return text;
  Diagnostics ignored;
  auto value = parse_toml_value(std::make_shared<SourceFile>(SourceFile{"--where", text}), 0,
                                text.size(), Origin::command_line, ignored);
  if (!value) return text;
  make_real(*value);
  return toml_text(*value);
}

// A word that looks like a number is a word to a value that is one: a run may be named 2024.
bool equal(const Condition& condition, const Cell& value) {
  if (const auto* word = std::get_if<std::string>(&value.value))
    return *word == condition.word || in_one_spelling(*word) == in_one_spelling(condition.word);
  if (!condition.value.as_number()) return false;
  return (is_nan(value) && is_nan(condition.value)) || is_eq(compared(value, condition.value));
}

bool is_equality(const std::string& comparison) {
  return comparison == "=" || comparison == "!=";
}

bool looks_like_two(const std::string& word) {
  const size_t joint = std::min(word.find(" and "), word.find("&&"));
  return joint != word.npos && word.find_first_of("=<>", joint) != word.npos;
}

}  // namespace

void refuse_condition(const std::string& text, const std::string& reason) {
  throw Error("command line: --where '" + text + "': " + reason, ExitCode::bad_recipe);
}

Condition parse_condition(const std::string& text) {
  const size_t begin = text.find_first_of("=!<>");
  const size_t end = begin == text.npos
                         ? text.size()
                         : std::min(text.find_first_not_of("=!<>", begin), text.size());
  const std::string comparison = begin == text.npos ? "" : text.substr(begin, end - begin);
  bool known = false;
  for (const char* each : {"=", "!=", "<", "<=", ">", ">="}) known = known || comparison == each;
  const std::string key(trimmed(text.substr(0, begin)));
  const std::string word = bare_text(std::string(trimmed(text.substr(end))));
  if (!known || key.empty() || (word.empty() && !is_equality(comparison)))
    refuse_condition(text, "write KEY=VALUE, with one of = != < <= > >=, as in lr>1e-4");
  if (looks_like_two(word)) refuse_condition(text, "give --where once for each condition");
  Condition condition{text, key, comparison, word, value_cell(word)};
  if (!is_equality(comparison) && !condition.value.as_number())
    refuse_condition(text, comparison + " compares numbers, and '" + word + "' is none");
  return condition;
}

bool holds(const Condition& condition, const Cell& value) {
  if (value.value.index() == 0) return false;
  const std::string& comparison = condition.comparison;
  if (comparison == "=") return equal(condition, value);
  if (comparison == "!=") return !equal(condition, value);
  if (!value.as_number()) return false;
  const auto order = compared(value, condition.value);
  if (comparison == "<") return is_lt(order);
  if (comparison == "<=") return is_lteq(order);
  return comparison == ">" ? is_gt(order) : is_gteq(order);
}

}  // namespace exprun
