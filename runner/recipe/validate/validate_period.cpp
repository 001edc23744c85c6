#include "recipe/validate/validate_period.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/number.h"
#include "base/period.h"
#include "base/suggest.h"
#include "base/word_list.h"
#include "recipe/validate/validate_value.h"

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

std::string unit_list(const Schema& schema) {
  std::vector<std::string> words;
  for (const std::string& unit : units_of(schema))
    if (unit == "time")
      words.insert(words.end(), {"s", "min", "h"});
    else
      words.push_back(unit);
  return alternatives(words);
}

std::string example_of(const Schema& schema) {
  const Schema examples = schema.value("examples", Schema::array());
  return json_text(examples.empty() ? schema.value("default", Schema()) : examples.back());
}

// "250 stps" -> "250 steps"
std::string help_for(const Schema& schema, const std::string& text) {
  const size_t unit_begin = text.find_last_of("0123456789 ") + 1;
  const std::string number = text.substr(0, unit_begin), unit = text.substr(unit_begin);
  if (unit.empty() && parse_period(text + " " + units_of(schema).front()))
    return "such as \"" + text + " " + units_of(schema).front() + "\"";
  const bool fraction = parse_period(number + "epochs").has_value();
  if (fraction && (unit.starts_with("step") || unit.starts_with("token")))
    return "a number of " + unit + " is whole";
  const std::vector<std::string> candidates = {"steps", "epochs", "tokens", "min", "hours"};
  if (const auto near = nearest(unit, candidates); near && parse_period(number + *near))
    return "did you mean \"" + number + *near + "\"?";
  return "a number and its unit: " + unit_list(schema);
}

}  // namespace

void validate_period(const std::string& key, const Schema& schema, const Value& value,
                     Diagnostics& diagnostics) {
  if (may_be_auto(schema) && is_auto(value)) return;
  const std::string& text = *value.as<std::string>();
  const std::optional<Period> period = parse_period(text);
  if (!period)
    return diagnostics.push_back(
        {value.where, "'" + key + "' must be a period with its unit", help_for(schema, text)});
  const std::vector<std::string> units = units_of(schema);
  if (std::find(units.begin(), units.end(), unit_name(period->unit)) == units.end())
    return diagnostics.push_back({value.where, "'" + key + "' must be in " + unit_list(schema),
                                  period->unit == PeriodUnit::seconds
                                      ? "a time would give other results on another machine"
                                      : "such as " + example_of(schema)});
  if (!std::isfinite(period->count))
    return diagnostics.push_back({value.where, "'" + key + "' must be finite"});
  const std::string bound = broken_bound(schema, period->count);
  if (!bound.empty())
    diagnostics.push_back(tolerable(
        {value.where, "'" + key + "' must be " + bound + " " +
                          (period->unit == PeriodUnit::seconds ? "s" : unit_name(period->unit))}));
}

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

}  // namespace exprun
