#include "recipe/sweep/sweep_values.h"

#include <cmath>
#include <cstdio>
#include <optional>

#include "base/diagnostic.h"
#include "base/number.h"
#include "base/synonyms.h"
#include "base/trimmed.h"
#include "recipe/toml_quotes.h"

namespace exprun {
namespace {

constexpr double kMostValues = 100000;  // of one range; more is surely a slip

struct Piece {
  std::string text;
  size_t begin = 0;
};

// Without the blanks around it.
void trim(Piece& part) {
  const size_t blanks = part.text.find_first_not_of(' ');
  if (blanks != std::string::npos) part.begin += blanks;
  part.text = std::string(trimmed(part.text));
}

bool opens(char c) {
  return c == '[' || c == '{' || c == '(';
}

bool closes(char c) {
  return c == ']' || c == '}' || c == ')';
}

// At commas outside of quotes and brackets.
std::vector<Piece> split_list(const std::string& text, size_t begin, size_t end) {
  std::vector<Piece> parts{{"", begin}};
  char quote = '\0';
  int depth = 0;
  for (size_t i = begin; i < end; ++i) {
    const char c = text[i];
    if (quote != '\0') {
      const bool escape = c == '\\' && quote == '"' && i + 1 < end;
      if (escape)
        parts.back().text += text[i++];
      else if (c == quote)
        quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (opens(c)) {
      ++depth;
    } else if (closes(c)) {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back({"", i + 1});
      continue;
    }
    parts.back().text += text[i];
  }
  for (Piece& part : parts) trim(part);
  return parts;
}

// What closes the bracket at `open`, outside of quotes; npos if nothing does.
size_t closing_bracket(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    const bool quote = text[i] == '"' || text[i] == '\'';
    const size_t behind = quote ? end_of_quoted(text, i) : text.npos;
    if (behind != text.npos) i = behind - 1;
    if (opens(text[i])) ++depth;
    if (closes(text[i]) && --depth == 0) return i;
  }
  return text.npos;
}

struct Form {
  const char *name, *help;
};

constexpr Form kRange{"range", "range(stop), range(start,stop) or range(start,stop,step)"};
constexpr Form kChoice{"choice", "choice(a,b)"};

// The arguments of "choice(a,b)"; nothing if the text does not begin so.
std::optional<std::vector<Piece>> arguments_of(const std::string& text, const Form& form,
                                               const PlaceInFile& place) {
  const std::string name = form.name;
  if (!text.starts_with(name + "(")) return std::nullopt;
  const size_t begin = name.size() + 1;
  const size_t end = closing_bracket(text, begin - 1);
  const SourceSpan all = place(0, text.size());
  if (end == text.npos)
    throw RecipeError(all, "the closing ')' of " + name + " is missing", form.help);
  if (!trimmed(text.substr(end + 1)).empty())
    throw RecipeError(place(end + 1, text.size() - end - 1),
                      "something stands behind the ')' of " + name, form.help);
  if (trimmed(text.substr(begin, end - begin)).empty())
    throw RecipeError(all, name + "() has no values", form.help);
  return split_list(text, begin, end);
}

std::optional<double> finite_number(const std::string& text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
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

std::vector<SweepValue> expand_range(const std::vector<Piece>& parts, const SourceSpan& where) {
  std::vector<double> numbers;
  bool integers = true;
  for (const Piece& part : parts) {
    const auto number = finite_number(part.text);
    if (!number || parts.size() > 3)
      throw RecipeError(where, "a range has one to three numbers", kRange.help);
    numbers.push_back(*number);
    integers = integers && is_integer(part.text);
  }
  const double start = numbers.size() == 1 ? 0 : numbers[0];
  const double stop = numbers.size() == 1 ? numbers[0] : numbers[1];
  const double step = numbers.size() == 3 ? numbers[2] : 1;
  if (parts.size() == 2 && !integers && std::abs(stop - start) <= 1)
    throw RecipeError(where, "the range needs a step: without one it is 1", kRange.help);
  if (step == 0) throw RecipeError(where, "the range has a step of 0", "it would have no end");
  const double count = std::ceil((stop - start) / step - 1e-9);
  if (!(count >= 1))
    throw RecipeError(where, "the range is empty",
                      "its values go from start to what is before stop; are they swapped?");
  if (count > kMostValues)
    throw RecipeError(where, "the range has more than 100,000 values", "a larger step has fewer");
  std::vector<SweepValue> values;
  for (double i = 0; i < count; ++i)
    values.push_back({range_value(start + i * step, integers), where});
  return values;
}

}  // namespace

std::vector<SweepValue> parse_sweep_values(const std::string& text, const PlaceInFile& place) {
  const SourceSpan all = place(0, text.size());
  if (const auto range = arguments_of(text, kRange, place)) return expand_range(*range, all);
  if (is_foreign_range(text))
    throw RecipeError(all, "'" + text.substr(0, text.find('(')) + "' is no function of a sweep",
                      "write the values, as in 1e-4,1e-3,1e-2, or range(start,stop,step)");
  const auto choice = arguments_of(text, kChoice, place);
  std::vector<SweepValue> values;
  for (const Piece& part : choice ? *choice : split_list(text, 0, text.size()))
    values.push_back({part.text, place(part.begin, part.text.size())});
  for (const SweepValue& value : values)
    if (value.text.empty() && values.size() > 1)
      throw RecipeError(all, "a value is missing beside a comma", "write \"\" for empty text");
  return values;
}

}  // namespace exprun
