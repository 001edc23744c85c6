#include "recipe/sweep_values.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>

#include "base/diagnostic.h"
#include "base/number.h"
#include "base/trimmed.h"

namespace exprun {
namespace {

constexpr double kMostValues = 100000;  // of one range; more is surely a slip

// At commas outside of quotes and brackets.
std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts(1);
  char quote = '\0';
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      const bool escape = c == '\\' && quote == '"' && i + 1 < text.size();
      if (escape)
        parts.back() += text[i++];
      else if (c == quote)
        quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{' || c == '(') {
      ++depth;
    } else if (c == ']' || c == '}' || c == ')') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.emplace_back();
      continue;
    }
    parts.back() += text[i];
  }
  for (std::string& part : parts) part = std::string(trimmed(part));
  return parts;
}

// "choice(a,b)" -> "a,b" for the name "choice".
std::optional<std::string> arguments_of(const std::string& text, const std::string& name) {
  if (!text.starts_with(name + "(") || !text.ends_with(")")) return std::nullopt;
  return text.substr(name.size() + 1, text.size() - name.size() - 2);
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end || !std::isfinite(value))
    return std::nullopt;
  return value;
}

bool is_integer(const std::string& text) {
  return text.find_first_not_of("-0123456789") == std::string::npos;
}

// 0.1 + 2 * 0.1 as 0.3: twelve digits are what people write.
std::string range_value(double value, bool integers) {
  if (integers) return std::to_string(std::llround(value));
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.12g", value);
  return shortest(std::strtod(digits, nullptr));
}

std::vector<std::string> expand_range(const std::string& arguments, const SourceSpan& where) {
  const std::vector<std::string> parts = split_list(arguments);
  std::vector<double> numbers;
  bool integers = true;
  for (const std::string& part : parts) {
    const auto number = number_of(part);
    if (!number || parts.size() > 3)
      throw RecipeError(where, "a range has one to three numbers",
                        "range(stop), range(start,stop) or range(start,stop,step)");
    numbers.push_back(*number);
    integers = integers && is_integer(part);
  }
  const double start = numbers.size() == 1 ? 0 : numbers[0];
  const double stop = numbers.size() == 1 ? numbers[0] : numbers[1];
  const double step = numbers.size() == 3 ? numbers[2] : 1;
  const double count = step == 0 ? 0 : std::ceil((stop - start) / step - 1e-9);
  if (!(count >= 1))
    throw RecipeError(where, "the range is empty", "it ends before its stop; is it reversed?");
  if (count > kMostValues) throw RecipeError(where, "the range has more than 100,000 values");
  std::vector<std::string> values;
  for (double i = 0; i < count; ++i) values.push_back(range_value(start + i * step, integers));
  return values;
}

}  // namespace

std::vector<std::string> parse_sweep_values(const std::string& text, const SourceSpan& where) {
  if (const auto range = arguments_of(text, "range")) return expand_range(*range, where);
  const std::vector<std::string> values = split_list(arguments_of(text, "choice").value_or(text));
  for (const std::string& value : values)
    if (value.empty() && values.size() > 1)
      throw RecipeError(where, "a value is missing beside a comma", "write \"\" for empty text");
  return values;
}

}  // namespace exprun
