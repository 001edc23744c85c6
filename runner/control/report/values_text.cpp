#include "control/report/values_text.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/number.h"
#include "base/word_list.h"
#include "recipe/emit.h"
#include "recipe/value_json.h"

namespace exprun {
namespace {

std::string choices(const Schema& values) {
  std::vector<std::string> words;
  for (const Schema& value : values) words.push_back(toml_of(value));
  return alternatives(words);
}

// " >= 1, < 10"
std::string bounds(const Schema& schema) {
  std::string result;
  for (const auto& [keyword, sign] :
       {std::pair("minimum", ">="), std::pair("exclusiveMinimum", ">"), std::pair("maximum", "<="),
        std::pair("exclusiveMaximum", "<")})
    if (schema.contains(keyword))
      result += (result.empty() ? " " : ", ") + std::string(sign) + ' ' +
                shortest(schema[keyword].get<double>());
  return result;
}

std::string period_text(const Schema& schema) {
  return "period in " + alternatives(schema["x-period"].get<std::vector<std::string>>()) +
         (schema.contains("exclusiveMinimum") ? ", > 0" : "");
}

std::string array_text(const Schema& schema) {
  const size_t least = schema.value("minItems", size_t{0});
  const bool exact = least > 0 && schema.value("maxItems", size_t{0}) == least;
  return "array of " + (exact ? std::to_string(least) + " x " : "") +
         (schema.contains("items") ? values_text(schema["items"]) : "values");
}

// One of the types that a schema allows; nothing for a text that may only be "auto".
std::string one_type(const Schema& schema, const std::string& type) {
  if (type == "array") return array_text(schema);
  if (type == "integer" || type == "number")
    return (type == "integer" ? "integer" : "float") + bounds(schema);
  if (type == "object") return "table";
  if (type != "string") return type;
  if (schema.value("pattern", "") == "^auto$") return "\"auto\"";
  return schema.contains("x-path") ? "path" : "string";
}

}  // namespace

std::string values_text(const Schema& schema) {
  if (schema.contains("enum")) return choices(schema["enum"]);
  if (schema.contains("const")) return toml_of(schema["const"]);
  if (schema.contains("x-period")) return period_text(schema);
  std::vector<std::string> words;
  if (const auto type = schema.find("type"); type != schema.end())
    for (const Schema& name : type->is_array() ? *type : Schema::array({*type}))
      words.push_back(one_type(schema, name.get<std::string>()));
  for (const char* keyword : {"anyOf", "oneOf"})
    if (schema.contains(keyword))
      for (const Schema& branch : schema[keyword]) words.push_back(values_text(branch));
  return words.empty() ? "any value" : alternatives(words);
}

std::string toml_of(const Schema& json) {
  return toml_text(value_of_json(json, Origin::default_value));
}

}  // namespace exprun
