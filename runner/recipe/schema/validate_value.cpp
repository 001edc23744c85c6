#include "recipe/schema/validate_value.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "base/format_units.h"
#include "base/json_text.h"
#include "base/period.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "recipe/paths.h"
#include "recipe/schema/wrong_type.h"

namespace exprun {
namespace {

const char* unit_name(PeriodUnit unit) {
  switch (unit) {
    case PeriodUnit::steps:
      return "steps";
    case PeriodUnit::epochs:
      return "epochs";
    case PeriodUnit::tokens:
      return "tokens";
    case PeriodUnit::seconds:
      return "time";
  }
  return "";
}

std::vector<std::string> units_of(const Schema& schema) {
  return schema["x-period"].get<std::vector<std::string>>();
}

std::string example_of(const Schema& schema) {
  const Schema examples = schema.value("examples", Schema::array());
  return json_text(examples.empty() ? schema.value("default", Schema()) : examples.back());
}

// "10 K tokens" -> "10k tokens"
std::string with_magnitude_at_number(std::string text) {
  const size_t at = text.find_first_not_of(' ', text.find_last_of("0123456789") + 1);
  if (at == text.npos || at + 1 == text.size() || text[at + 1] != ' ') return "";
  const std::string_view magnitude = "kKmMbBtT";
  const size_t found = magnitude.find(text[at]);
  if (found == magnitude.npos) return "";
  text[at] = "kMBT"[found / 2];
  text.erase(text.find_last_of("0123456789") + 1, at - text.find_last_of("0123456789") - 1);
  return parse_period(text) ? text : "";
}

// "10%", "0.1"
bool is_fraction(const std::string& text) {
  const auto number = parse_number<double>(text);
  return text.ends_with('%') || (number && *number > 0 && *number < 1);
}

// "250 stps" -> "250 steps"
std::string help_for(const Schema& schema, const std::string& text) {
  if (const std::string meant = with_magnitude_at_number(text); !meant.empty())
    return "write \"" + meant + "\"";
  const size_t unit_begin = text.find_last_of("0123456789 ") + 1;
  const std::string number = text.substr(0, unit_begin), unit = text.substr(unit_begin);
  const auto meant = parse_period(text + " " + units_of(schema).front());
  if (meant && meant->count > 0) return "such as \"" + period_text(text, schema) + "\"";
  const bool fraction = parse_period(number + "epochs").has_value();
  if (fraction && (unit.starts_with("step") || unit.starts_with("token")))
    return "a number of " + unit + " must be whole";
  const std::string units = unit_list(schema);
  if (unit == "m" && units.find("min") != units.npos)
    return "write \"" + std::string(trimmed(number)) + " min\"";
  const std::vector<std::string> candidates = {"steps", "epochs", "tokens", "min", "hours"};
  if (const auto near = nearest(unit, candidates); near && parse_period(number + *near))
    return "did you mean \"" + number + *near + "\"?";
  return "write a number and its unit: " + units + (is_fraction(text) ? kNoFraction : "");
}

// "> 0" when minimum, exclusiveMinimum, maximum or exclusiveMaximum does not hold; else empty.
std::string broken_bound(const Schema& schema, double number) {
  struct Bound {
    const char* keyword;
    const char* sign;
    bool holds;
  };
  const auto limit = [&](const char* keyword) { return schema.value(keyword, 0.0); };
  const Bound bounds[] = {
      {"minimum", ">= ", number >= limit("minimum")},
      {"exclusiveMinimum", "> ", number > limit("exclusiveMinimum")},
      {"maximum", "<= ", number <= limit("maximum")},
      {"exclusiveMaximum", "< ", number < limit("exclusiveMaximum")},
  };
  for (const Bound& bound : bounds)
    if (schema.contains(bound.keyword) && !bound.holds)
      return bound.sign + shortest(limit(bound.keyword));
  return "";
}

// A string with a number and one of the schema's units; bounds hold for its count.
void validate_period(const std::string& key, const Schema& schema, const Value& value,
                     Diagnostics& diagnostics) {
  if (may_be_auto(schema) && is_auto(value)) return;
  const std::string& text = *value.as<std::string>();
  const std::optional<Period> period = parse_period(text);
  if (!period)
    return diagnostics.push_back(
        {value.where, "'" + key + "' must be a duration with a unit", help_for(schema, text)});
  const std::vector<std::string> units = units_of(schema);
  if (std::find(units.begin(), units.end(), unit_name(period->unit)) == units.end())
    return diagnostics.push_back({value.where, "'" + key + "' must be in " + unit_list(schema),
                                  period->unit == PeriodUnit::seconds
                                      ? "a time would give different results on another machine"
                                      : "such as " + example_of(schema)});
  if (!std::isfinite(period->count))
    return diagnostics.push_back({value.where, "'" + key + "' must be finite"});
  const std::string bound = broken_bound(schema, period->count);
  if (!bound.empty())
    diagnostics.push_back(
        {value.where, "'" + key + "' must be " + bound + " " +
                          (period->unit == PeriodUnit::seconds ? "s" : unit_name(period->unit))});
}

std::vector<std::string> declared_keys(const Schema& schema) {
  std::vector<std::string> keys;
  if (const auto properties = schema.find("properties"); properties != schema.end())
    for (const auto& [key, node] : properties->items()) keys.push_back(key);
  return keys;
}

void check_member(const std::string& key, const Schema& schema, const Entry& entry,
                  Diagnostics& diagnostics) {
  const auto properties = schema.find("properties");
  if (properties != schema.end() && properties->contains(entry.key))
    return validate_value(entry.key, (*properties)[entry.key], entry.value, diagnostics);
  const auto others = schema.find("additionalProperties");
  if (others == schema.end()) return;
  if (*others != false) return validate_value(entry.key, *others, entry.value, diagnostics);
  const std::vector<std::string> keys = declared_keys(schema);
  const auto near = nearest(entry.key, keys);
  diagnostics.push_back({entry.where, "unknown key '" + entry.key + "' in '" + key + "'",
                         near           ? "did you mean '" + *near + "'?"
                         : keys.empty() ? ""
                                        : "its keys are " + listed(keys)});
}

// All types that the branches take, as one schema: for the message.
Schema any_type(const Schema& branches) {
  Schema types = Schema::array();
  for (const Schema& branch : branches) {
    if (!branch.is_object() || !branch.contains("type")) return Schema::object();
    for (const Schema& type : branch["type"].is_array() ? branch["type"] : Schema{branch["type"]})
      if (std::find(types.begin(), types.end(), type) == types.end()) types.push_back(type);
  }
  return {{"type", types}};
}

struct Branches {
  size_t fitting = 0;
  Diagnostics nearest;  // of the branch with the fewest mistakes among those of the value's type
};

Branches try_branches(const std::string& key, const Schema& branches, const Value& value) {
  Branches result;
  for (const Schema& branch : branches) {
    Diagnostics found;
    validate_value(key, branch, value, found);
    if (!has_errors(found))
      ++result.fitting;
    else if (has_right_type(branch, value) &&
             (result.nearest.empty() || found.size() < result.nearest.size()))
      result.nearest = std::move(found);
  }
  return result;
}

void check_items(const std::string& key, const Schema& schema, const Array& array,
                 Diagnostics& diagnostics) {
  const auto items = schema.find("items");
  if (items == schema.end()) return;
  for (size_t i = 0; i < array.size(); ++i) {
    const std::string element = key + '[' + std::to_string(i) + ']';
    if (!items->is_array())
      validate_value(element, *items, array[i], diagnostics);
    else if (i < items->size())
      validate_value(element, (*items)[i], array[i], diagnostics);
  }
}

void check_members(const std::string& key, const Schema& schema, const Value& table,
                   Diagnostics& diagnostics) {
  const auto names = schema.find("propertyNames");
  for (const Entry& entry : table.as<Table>()->entries()) {
    if (names != schema.end()) validate_name(*names, entry, diagnostics);
    check_member(key, schema, entry, diagnostics);
  }
  if (const auto required = schema.find("required"); required != schema.end())
    for (const Schema& needed : *required)
      if (table.as<Table>()->find(needed.get<std::string>()) == nullptr)
        diagnostics.push_back(
            {table.where, "'" + key + "' needs '" + needed.get<std::string>() + "'"});
}

// Where no branch fits, the mistakes of the one that the value comes nearest to.
void check_branches(const std::string& key, const Schema& schema, const Value& value,
                    Diagnostics& diagnostics) {
  for (const char* keyword : {"anyOf", "oneOf"}) {
    const auto branches = schema.find(keyword);
    if (branches == schema.end()) continue;
    Branches tried = try_branches(key, *branches, value);
    if (tried.fitting == 0 && tried.nearest.empty())
      diagnostics.push_back(wrong_type(key, any_type(*branches), value));
    else if (tried.fitting == 0)
      std::move(tried.nearest.begin(), tried.nearest.end(), std::back_inserter(diagnostics));
    else if (tried.fitting > 1 && *keyword == 'o')
      diagnostics.push_back(
          {value.where, "'" + key + "' matches several forms, but must match exactly one"});
  }
}

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
  const auto near = text == nullptr ? std::nullopt : choice_meant(*text, names);
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
      diagnostics.push_back({value.where, "'" + key + "' is too long"});
    return;
  }
  if (std::regex_search(text, compiled(pattern))) return;
  const std::string meant = schema.value("x-pattern-help", "");
  diagnostics.push_back(
      {value.where,
       "'" + key + "' must " + (meant.empty() ? "match " + pattern : "be made of " + meant)});
}

void check_length(const std::string& key, const Schema& schema, const Value& value,
                  Diagnostics& diagnostics) {
  const size_t most = schema["maxLength"].get<size_t>();
  const size_t length = code_points(*value.as<std::string>()).size();
  if (length > most)
    diagnostics.push_back({value.where, "'" + key + "' must have at most " + std::to_string(most) +
                                            " characters, got " + std::to_string(length)});
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
        {value.where, *problem, "use ${env:NAME}, ${env:NAME:default} or ${libtorch}"});
}

void check_number(const std::string& key, const Schema& schema, double number,
                  const SourceSpan& where, Diagnostics& diagnostics) {
  if (!std::isfinite(number)) return diagnostics.push_back({where, "'" + key + "' must be finite"});
  const std::string bound = broken_bound(schema, number);
  if (!bound.empty()) diagnostics.push_back({where, "'" + key + "' must be " + bound});
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
    return diagnostics.push_back({value.where, "'" + key + "' is not allowed here"});
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
