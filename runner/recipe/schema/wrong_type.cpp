#include "recipe/schema/wrong_type.h"

#include <cctype>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/format_units.h"
#include "base/json_text.h"
#include "base/period.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "recipe/schema/validate_value.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

constexpr double kSecondsOfMinute = 60;

// In words. A string that may only be "auto" or another one text is shown as that.
std::string wanted_types(const Schema& schema) {
  if (schema.contains("x-period")) return "a duration with a unit";
  std::vector<std::string> words;
  if (allows_type(schema, "boolean")) words.push_back("a boolean");
  if (allows_type(schema, "integer")) words.push_back("an integer");
  if (allows_type(schema, "number")) words.push_back("a float");
  const auto only = only_text(schema);
  if (allows_type(schema, "string")) words.push_back(only ? "\"" + *only + "\"" : "a string");
  if (allows_type(schema, "array")) words.push_back("an array");
  if (allows_type(schema, "object")) words.push_back("a table");
  return alternatives(words);
}

// "no clipping" of "maximum norm of all gradients together; 0: no clipping"; empty if the schema
// does not say what 0 means.
std::string meaning_of_zero(const Schema& schema) {
  constexpr std::string_view kZero = " 0: ";
  const std::string text = schema.value("description", "");
  const size_t at = text.find(kZero);
  if (at == text.npos) return "";
  const size_t begin = at + kZero.size();
  return text.substr(begin, text.find_first_of(";.", begin) - begin);
}

// For "None".
std::string help_for_no_value(const Schema& schema) {
  const std::string zero = meaning_of_zero(schema);
  const auto usual = schema.find("default");
  if (usual != schema.end() && *usual == true) return "write false";
  return (zero.empty() ? "" : "write 0 (" + zero + "), or ") + "leave the key out" +
         (usual == schema.end() ? "" : " for its default, " + json_text(*usual));
}

// "5" of "5 min" where minutes are counted; empty for what is no such amount.
std::string without_unit(const Schema& schema, const std::string& text) {
  const std::string unit = schema.value("x-unit", "");
  const auto amount = unit.empty() ? std::nullopt : parse_period(text);
  if (!amount) return "";
  const bool minutes = unit == "minutes" && amount->unit == PeriodUnit::seconds;
  const bool same = (unit == "steps" && amount->unit == PeriodUnit::steps) ||
                    (unit == "tokens" && amount->unit == PeriodUnit::tokens);
  if (!minutes && !same) return "";
  return shortest(minutes ? amount->count / kSecondsOfMinute : amount->count);
}

std::string help_for_string(const Schema& schema, const std::string& text) {
  const bool flag = allows_type(schema, "boolean") && (text == "true" || text == "false");
  const bool integer = allows_type(schema, "integer") && parse_number<int64_t>(text);
  const bool number = allows_type(schema, "number") && parse_number<double>(text);
  if (flag || integer || number) return "remove the quotes";
  if (is_no_value(text)) return help_for_no_value(schema);
  if (text.find("${") != text.npos) return kNoVariables;
  if (const std::string amount = without_unit(schema, text); !amount.empty())
    return "write " + amount;
  if (allows_type(schema, "boolean")) return "true or false";
  return "";
}

// Of a boolean where a text is wanted, or of another value where a choice of texts is.
std::string help_for_choice(const Schema& schema) {
  std::vector<std::string> choices;
  for (const Schema& choice : schema.value("enum", Schema::array()))
    choices.push_back(json_text(choice));
  if (!choices.empty()) return "it can be " + alternatives(choices);
  for (const Schema& example : schema.value("examples", Schema::array()))
    choices.push_back(json_text(example));
  if (choices.empty()) return "";
  if (const auto usual = schema.find("default"); usual != schema.end())
    choices.push_back(json_text(*usual));
  return "such as " + alternatives(choices);
}

// A shell hands "\n" on as two characters: between quotes they are one again, and any other
// backslash would be a mistake.
bool has_only_escapes(const std::string& text) {
  if (text.find('\\') == text.npos || text.find('"') != text.npos) return false;
  for (size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at + 2))
    if (at + 1 == text.size() || std::strchr("ntr\\", text[at + 1]) == nullptr) return false;
  return true;
}

// ["a"] of "a" where a list of texts is wanted.
std::string in_brackets(const Schema& schema, const Value& value) {
  const auto items = schema.find("items");
  const bool of_texts = items != schema.end() && items->is_object() && items->contains("type") &&
                        allows_type(*items, "string");
  const size_t least = schema.value("minItems", size_t{0});
  if (const auto usual = schema.find("default"); least > 1 && usual != schema.end())
    return "write " + std::to_string(least) + " of them in brackets, such as " + json_text(*usual);
  if (!of_texts) return "put it in brackets";
  const auto* text = value.as<std::string>();
  if (text != nullptr && value.origin == Origin::command_line && has_only_escapes(*text))
    return "write [\"" + *text + "\"]";
  return "write [" + toml_quoted(text != nullptr ? *text : toml_text(value)) + "]";
}

std::string help_for_float(const Schema& schema, double number) {
  const bool whole = std::floor(number) == number && std::abs(number) < 1e15;
  if (allows_type(schema, "integer") && whole) return "write " + shortest(number);
  return "";
}

std::string help_for(const Schema& schema, const Value& value) {
  if (const auto* number = value.as<int64_t>(); number != nullptr && schema.contains("x-period"))
    return "such as \"" + period_text(std::to_string(*number), schema) + "\"";
  if (const auto* text = value.as<std::string>();
      text != nullptr && !allows_type(schema, "object")) {
    const std::string help = help_for_string(schema, *text);
    return help.empty() && allows_type(schema, "array") ? in_brackets(schema, value) : help;
  }
  if (const auto* number = value.as<double>(); number != nullptr && schema.contains("x-period"))
    return "write a number and its unit: " + unit_list(schema) +
           (*number > 0 && *number < 1 ? kNoFraction : "");
  if (const auto* number = value.as<double>()) {
    const std::string help = help_for_float(schema, *number);
    if (!help.empty()) return help;
  }
  if (allows_type(schema, "boolean")) return "true or false";
  const bool simple = value.as<Array>() == nullptr && value.as<Table>() == nullptr;
  const bool text_wanted = allows_type(schema, "string") && !only_text(schema);
  if (text_wanted && (value.as<bool>() != nullptr || schema.contains("enum")))
    if (const std::string help = help_for_choice(schema); !help.empty()) return help;
  if (simple && text_wanted) return "put it in quotes";
  if (simple && allows_type(schema, "array")) return in_brackets(schema, value);
  return "";
}

}  // namespace

std::optional<std::string> only_text(const Schema& schema) {
  const std::string pattern = schema.value("pattern", "");
  if (pattern.size() < 2 || pattern.front() != '^' || pattern.back() != '$') return std::nullopt;
  std::string text;
  for (size_t i = 1; i + 1 < pattern.size(); ++i) {
    // A '$' that is escaped ends no text.
    const bool is_escape = pattern[i] == '\\' && i + 2 < pattern.size() &&
                           std::ispunct(static_cast<unsigned char>(pattern[i + 1]));
    if (is_escape) ++i;
    if (!is_escape && std::strchr(".[](){}*+?|^$\\", pattern[i])) return std::nullopt;
    text += pattern[i];
  }
  return text;
}

std::string unit_list(const Schema& schema) {
  std::vector<std::string> words;
  for (const Schema& unit : schema["x-period"])
    if (unit == "time")
      words.insert(words.end(), {"s", "min", "h"});
    else
      words.push_back(unit);
  return alternatives(words);
}

std::string period_text(const std::string& number, const Schema& schema) {
  std::string unit = schema["x-period"].front();
  if (number == "1") unit.pop_back();
  return number + " " + unit;
}

bool has_right_type(const Schema& schema, const Value& value) {
  constexpr const char* kTypes[] = {"boolean", "integer", "number", "string", "array", "object"};
  const bool integer_for_float = value.as<int64_t>() != nullptr && allows_type(schema, "number");
  return allows_type(schema, kTypes[value.data.index()]) || integer_for_float;
}

Diagnostic wrong_type(const std::string& key, const Schema& schema, const Value& value) {
  std::string got = type_name(value);
  if (const auto* text = value.as<std::string>(); text != nullptr && only_text(schema))
    got = "\"" + *text + "\"";
  return {value.where, "'" + key + "' must be " + wanted_types(schema) + ", got " + got,
          help_for(schema, value)};
}

}  // namespace exprun
