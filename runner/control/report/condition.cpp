#include "control/report/condition.h"

#include <cmath>

#include "base/diagnostic.h"
#include "base/trimmed.h"
#include "control/report/runs_table.h"

namespace exprun {
namespace {

bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

bool equal(const Cell& a, const Cell& b) {
  const auto x = a.as_number(), y = b.as_number();
  return x && y ? same_number(*x, *y) : a.value == b.value;
}

}  // namespace

void refuse_condition(const std::string& text, const std::string& reason) {
  throw Error("command line: --where '" + text + "': " + reason, ExitCode::bad_recipe);
}

Condition parse_condition(const std::string& text) {
  const size_t begin = text.find_first_of("=!<>");
  const size_t end = begin == text.npos ? begin : text.find_first_not_of("=!<>", begin);
  const std::string comparison = end == text.npos ? "" : text.substr(begin, end - begin);
  bool known = false;
  for (const char* each : {"=", "!=", "<", "<=", ">", ">="}) known = known || comparison == each;
  const std::string key(trimmed(text.substr(0, begin)));
  if (!known || key.empty())
    refuse_condition(text, "write KEY=VALUE, with one of = != < <= > >=, as in lr>1e-4");
  Condition condition{text, key, comparison, value_cell(std::string(trimmed(text.substr(end))))};
  if (comparison != "=" && comparison != "!=" && !condition.value.as_number())
    refuse_condition(text,
                     comparison + " compares numbers, and '" + condition.value.text + "' is none");
  return condition;
}

bool holds(const Condition& condition, const Cell& value) {
  if (value.value.index() == 0) return false;
  const std::string& comparison = condition.comparison;
  if (comparison == "=") return equal(value, condition.value);
  if (comparison == "!=") return !equal(value, condition.value);
  const auto a = value.as_number();
  if (!a) return false;
  const double b = *condition.value.as_number();
  if (comparison == "<") return *a < b;
  if (comparison == "<=") return *a <= b;
  return comparison == ">" ? *a > b : *a >= b;
}

}  // namespace exprun
