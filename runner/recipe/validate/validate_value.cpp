#include "recipe/validate/validate_value.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "base/json_text.h"
#include "base/number.h"
#include "base/suggest.h"
#include "base/synonyms.h"
#include "base/utf8.h"
#include "base/word_list.h"
#include "recipe/paths.h"
#include "recipe/validate/validate_nested.h"
#include "recipe/validate/validate_period.h"
#include "recipe/validate/wrong_type.h"

namespace exprun {
namespace {

constexpr size_t kLongestMatched = 1000;  // bytes: std::regex recurses over a text

std::string double_quoted(const std::string& text) {
  return "\"" + text + "\"";
}

bool equals(const Schema& choice, const Value& value);

bool equals(const Schema& choice, const Array& array) {
  return choice.is_array() && choice.size() == array.size() &&
         std::equal(choice.begin(), choice.end(), array.begin(),
                    [](const Schema& a, const Value& b) { return equals(a, b); });
}

bool equals(const Schema& choice, const Table& table) {
  return choice.is_object() && choice.size() == table.entries().size() &&
         std::all_of(table.entries().begin(), table.entries().end(), [&](const Entry& entry) {
           return choice.contains(entry.key) && equals(choice[entry.key], entry.value);
         });
}

bool equals(const Schema& choice, const Value& value) {
  if (const auto* array = value.as<Array>()) return equals(choice, *array);
  if (const auto* table = value.as<Table>()) return equals(choice, *table);
  if (const auto* text = value.as<std::string>()) return choice.is_string() && choice == *text;
  if (const auto* flag = value.as<bool>()) return choice.is_boolean() && choice == *flag;
  if (const auto* number = value.as<int64_t>()) return choice.is_number() && choice == *number;
  return choice.is_number() && choice == *value.as<double>();
}

void check_choices(const std::string& key, const Schema& choices, const Value& value,
                   Diagnostics& diagnostics) {
  std::vector<std::string> shown, names;
  for (const Schema& choice : choices) {
    if (equals(choice, value)) return;
    shown.push_back(json_text(choice));
    if (choice.is_string()) names.push_back(choice.get<std::string>());
  }
  const auto* text = value.as<std::string>();
  auto near = text == nullptr ? std::nullopt : value_synonym(*text, names);
  if (text != nullptr && !near) near = nearest(*text, names);
  diagnostics.push_back({value.where, "'" + key + "' must be " + alternatives(shown),
                         near ? "did you mean " + double_quoted(*near) + "?" : ""});
}

std::optional<double> number_of(const Value& value) {
  if (const auto* number = value.as<int64_t>()) return static_cast<double>(*number);
  if (const auto* number = value.as<double>()) return *number;
  return std::nullopt;
}

// Most recipes have the same few patterns, and a sweep checks a thousand recipes.
const std::regex& compiled(const std::string& pattern) {
  thread_local std::map<std::string, std::regex> known;
  const auto found = known.find(pattern);
  return found != known.end() ? found->second : known.emplace(pattern, pattern).first->second;
}

void check_pattern(const std::string& key, const Schema& schema, const Value& value,
                   Diagnostics& diagnostics) {
  const std::string pattern = schema["pattern"].get<std::string>();
  const std::string& text = *value.as<std::string>();
  if (const auto only = only_text(schema)) {
    if (text != *only) diagnostics.push_back(wrong_type(key, schema, value));
    return;
  }
  if (text.size() > kLongestMatched) {
    const bool said = code_points(text).size() > schema.value("maxLength", text.size());
    if (!said)  // by check_length()
      diagnostics.push_back(tolerable({value.where, "'" + key + "' is too long"}));
    return;
  }
  if (std::regex_search(text, compiled(pattern))) return;
  const std::string meant = schema.value("x-pattern-help", "");
  diagnostics.push_back(
      tolerable({value.where, "'" + key + "' must " +
                                  (meant.empty() ? "match " + pattern : "be made of " + meant)}));
}

void check_length(const std::string& key, const Schema& schema, const Value& value,
                  Diagnostics& diagnostics) {
  const size_t most = schema["maxLength"].get<size_t>();
  const size_t length = code_points(*value.as<std::string>()).size();
  if (length > most)
    diagnostics.push_back(
        tolerable({value.where, "'" + key + "' must have at most " + std::to_string(most) +
                                    " characters, got " + std::to_string(length)}));
}

void check_size(const std::string& key, const Schema& schema, const Value& value,
                Diagnostics& diagnostics) {
  const size_t size = value.as<Array>()->size();
  const size_t least = schema.value("minItems", size_t{0});
  const size_t most = schema.value("maxItems", size);
  if (size >= least && size <= most) return;
  const bool exact = schema.contains("minItems") && schema.contains("maxItems") && least == most;
  const std::string wanted = exact          ? std::to_string(least)
                             : size < least ? "at least " + std::to_string(least)
                                            : "at most " + std::to_string(most);
  diagnostics.push_back({value.where, "'" + key + "' must have " + wanted + " element" +
                                          (wanted.ends_with(" 1") || wanted == "1" ? "" : "s") +
                                          ", got " + std::to_string(size)});
}

void check_path(const Value& value, Diagnostics& diagnostics) {
  if (const auto* array = value.as<Array>())
    for (const Value& element : *array) check_path(element, diagnostics);
  const auto* text = value.as<std::string>();
  const auto problem = text == nullptr ? std::nullopt : path_problem(*text);
  if (problem)
    diagnostics.push_back(
        {value.where, *problem, "there are ${env:NAME}, ${env:NAME:default} and ${libtorch}"});
}

void check_number(const std::string& key, const Schema& schema, double number,
                  const SourceSpan& where, Diagnostics& diagnostics) {
  if (!std::isfinite(number)) return diagnostics.push_back({where, "'" + key + "' must be finite"});
  const std::string bound = broken_bound(schema, number);
  if (!bound.empty()) diagnostics.push_back(tolerable({where, "'" + key + "' must be " + bound}));
}

}  // namespace

bool allows_type(const Schema& schema, std::string_view type) {
  const auto found = schema.find("type");
  if (found == schema.end()) return true;
  if (found->is_string()) return *found == type;
  return std::any_of(found->begin(), found->end(), [&](const Schema& t) { return t == type; });
}

bool may_be_auto(const Schema& schema) {
  const auto found = schema.find("default");
  return found != schema.end() && *found == "auto";
}

void validate_name(const Schema& names, const Entry& entry, Diagnostics& diagnostics) {
  validate_value(entry.key, names, Value(entry.key, entry.where, Origin::file), diagnostics);
}

void validate_value(const std::string& key, const Schema& schema, const Value& value,
                    Diagnostics& diagnostics) {
  if (schema == true) return;
  if (schema == false)
    return diagnostics.push_back({value.where, "'" + key + "' cannot be given here"});
  if (!has_right_type(schema, value)) return diagnostics.push_back(wrong_type(key, schema, value));
  if (schema.contains("enum")) check_choices(key, schema["enum"], value, diagnostics);
  if (schema.contains("const"))
    check_choices(key, Schema::array({schema["const"]}), value, diagnostics);
  if (schema.contains("x-path")) check_path(value, diagnostics);
  if (const auto number = number_of(value))
    check_number(key, schema, *number, value.where, diagnostics);
  if (value.as<std::string>() != nullptr && schema.contains("x-period"))
    validate_period(key, schema, value, diagnostics);
  if (value.as<std::string>() != nullptr && schema.contains("maxLength"))
    check_length(key, schema, value, diagnostics);
  if (value.as<std::string>() != nullptr && schema.contains("pattern"))
    check_pattern(key, schema, value, diagnostics);
  if (const auto* array = value.as<Array>()) {
    check_size(key, schema, value, diagnostics);
    check_items(key, schema, *array, diagnostics);
  }
  if (value.as<Table>() != nullptr) check_members(key, schema, value, diagnostics);
  check_branches(key, schema, value, diagnostics);
}

}  // namespace exprun
