#include "recipe/sweep/sweep_values.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/format_units.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

constexpr double kMostValues = 100000;  // of one axis; more is surely a slip
constexpr int kWrittenDigits = 12;      // more than people write
constexpr int kComputedDigits = 6;      // of values that nobody wrote

// Without the blanks around it.
void trim(ListPart& part) {
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

struct Function {
  const char *name, *form;
};

constexpr Function kChoice{"choice", "write choice(a,b)"};
constexpr Function kRange{"range",
                          "write range(stop), range(start,stop) or range(start,stop,step)"};
constexpr Function kLinspace{"linspace", "write linspace(first,last,count)"};
constexpr Function kLogspace{"logspace", "write logspace(first,last,count)"};
constexpr Function kInterval{"interval", "write interval(low,high)"};
constexpr Function kLogUniform{"loguniform", "write log:low..high or loguniform(low,high)"};

// What a function is called with, and what its text is for diagnostics.
struct Call {
  std::vector<ListPart> arguments;
  const Function& function;
  const PlaceInFile& place;
  SourceSpan all;

  SourceSpan where(const ListPart& argument) const {
    return place(argument.begin, argument.text.size());
  }
};

// Nothing if the text does not begin as a call of the function.
std::optional<Call> call_of(const std::string& text, const Function& function,
                            const PlaceInFile& place) {
  const std::string name = function.name;
  if (!text.starts_with(name + "(")) return std::nullopt;
  const size_t begin = name.size() + 1;
  const size_t end = closing_bracket(text, begin - 1);
  const SourceSpan all = place(0, text.size());
  if (end == text.npos)
    throw RecipeError(all, "the closing ')' of " + name + " is missing", function.form);
  if (!trimmed(text.substr(end + 1)).empty())
    throw RecipeError(place(end + 1, text.size() - end - 1),
                      "unexpected text after the ')' of " + name, function.form);
  if (trimmed(text.substr(begin, end - begin)).empty())
    throw RecipeError(all, name + "() needs arguments", function.form);
  return Call{split_list(text, begin, end), function, place, all};
}

std::optional<double> finite_number(const std::string& text) {
  const auto value = parse_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

bool is_integer(const std::string& text) {
  return text.find_first_not_of("-0123456789") == std::string::npos;
}

// Of numbers that expand_range() takes.
std::optional<CountedRange> counted_range(const Call& call) {
  if (call.arguments.size() < 3) return std::nullopt;
  const auto number = [&](size_t i) { return *finite_number(call.arguments[i].text); };
  const double count = number(2);
  if (count < 2 || std::floor(count) != count || count <= number(1) - number(0))
    return std::nullopt;
  return CountedRange{call.arguments[0].text, call.arguments[1].text, call.arguments[2].text,
                      call.all};
}

std::vector<SweepValue> expand_range(const Call& call) {
  std::vector<double> numbers;
  bool integers = true;
  for (const ListPart& part : call.arguments) {
    const auto number = finite_number(part.text);
    if (!number || call.arguments.size() > 3)
      throw RecipeError(call.all, "a range takes one to three numbers", kRange.form);
    numbers.push_back(*number);
    integers = integers && is_integer(part.text);
  }
  const double start = numbers.size() == 1 ? 0 : numbers[0];
  const double stop = numbers.size() == 1 ? numbers[0] : numbers[1];
  const double step = numbers.size() == 3 ? numbers[2] : 1;
  if (numbers.size() == 2 && !integers && std::abs(stop - start) <= 1)
    throw RecipeError(call.all, "the range needs a step: the default is 1",
                      std::string(kRange.form) + "; for equal ratios, " + kLogspace.form);
  if (step == 0)
    throw RecipeError(call.all, "the range has a step of 0", "the range would never end");
  const double count = std::ceil((stop - start) / step - 1e-9);
  if (!(count >= 1))
    throw RecipeError(
        call.all, "the range is empty",
        "its values go from start to just before stop; swap them, or change the sign of the step");
  if (count > kMostValues)
    throw RecipeError(call.all, "the range has more than 100,000 values", "use a larger step");
  std::vector<SweepValue> values;
  for (double i = 0; i < count; ++i) {
    const double value = start + i * step;
    values.push_back(
        {integers ? std::to_string(std::llround(value)) : rounded_text(value, kWrittenDigits),
         call.all});
  }
  return values;
}

double number_of(const Call& call, const ListPart& part) {
  const auto number = finite_number(part.text);
  if (!number)
    throw RecipeError(
        call.where(part),
        part.text.empty() ? "a number is missing" : "'" + part.text + "' is not a number",
        call.function.form);
  return *number;
}

// numpy's logspace and hyperopt's loguniform take exponents: logspace(1e-4,1e-2,3) of
// "logspace(-4,-2,3)"; nothing if the ends are none.
std::optional<std::string> with_ends_themselves(const Call& call) {
  constexpr int64_t kLargest = 30;
  std::string text = call.function.name + std::string("(");
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string& argument = call.arguments[i].text;
    const auto exponent = parse_number<int64_t>(argument);
    if (i < 2 && (!exponent || std::abs(*exponent) > kLargest)) return std::nullopt;
    text += (i == 0 ? "" : ",") + (i < 2 ? "1e" + argument : argument);
  }
  return text + ')';
}

double positive_number(const Call& call, const ListPart& part) {
  const double number = number_of(call, part);
  if (number > 0) return number;
  const auto meant = number < 0 ? with_ends_themselves(call) : std::nullopt;
  throw RecipeError(call.where(part), "a log scale needs numbers above 0",
                    meant         ? "it takes the ends themselves, not their exponents: " + *meant
                    : number == 0 ? "begin with a small one, such as 1e-6"
                                  : "sweep over negative numbers with linspace or interval");
}

// linspace and logspace.
std::vector<SweepValue> expand_space(const Call& call, bool is_log) {
  if (call.arguments.size() != 3)
    throw RecipeError(call.all, std::string(call.function.name) + " takes two numbers and a count",
                      call.function.form);
  const auto number = is_log ? positive_number : number_of;
  const double first = number(call, call.arguments[0]);
  const double last = number(call, call.arguments[1]);
  const auto count = parse_number<int64_t>(call.arguments[2].text);
  if (!count || *count < 2 || static_cast<double>(*count) > kMostValues)
    throw RecipeError(call.where(call.arguments[2]),
                      "the count must be an integer from 2 to 100,000",
                      "both ends are among the values");
  if (first == last)
    throw RecipeError(call.where(call.arguments[1]), "both ends are the same number",
                      "write just that number");
  std::vector<SweepValue> values;
  for (int64_t i = 0; i < *count; ++i) {
    const double part = static_cast<double>(i) / static_cast<double>(*count - 1);
    const bool is_end = i == 0 || i == *count - 1;
    const double value = is_end ? (i == 0 ? first : last)
                         : is_log
                             ? std::exp(std::log(first) + part * (std::log(last) - std::log(first)))
                             : first + part * (last - first);
    values.push_back({rounded_text(value, is_log && !is_end ? kComputedDigits : kWrittenDigits),
                      call.all, true});
  }
  return values;
}

Interval interval_of(const Call& call, bool is_log) {
  if (call.arguments.size() != 2)
    throw RecipeError(call.all, std::string(call.function.name) + " takes two numbers",
                      call.function.form);
  const auto number = is_log ? positive_number : number_of;
  const double low = number(call, call.arguments[0]);
  const double high = number(call, call.arguments[1]);
  if (!(low < high))
    throw RecipeError(call.all,
                      "the interval is empty: " + call.arguments[0].text + " is not below " +
                          call.arguments[1].text,
                      low > high ? "swap the two" : "write the number alone");
  return {low, high, is_log, call.all};
}

// "log:1e-5..1e-2"
std::optional<Call> call_of_log(const std::string& text, const PlaceInFile& place) {
  constexpr size_t kBegin = 4;
  if (!text.starts_with("log:")) return std::nullopt;
  const size_t dots = text.find("..");
  if (dots == text.npos)
    throw RecipeError(place(0, text.size()), "the '..' between the two ends is missing",
                      "write log:low..high, as in log:1e-5..1e-2");
  std::vector<ListPart> ends{{text.substr(kBegin, dots - kBegin), kBegin},
                             {text.substr(dots + 2), dots + 2}};
  for (ListPart& end : ends) trim(end);
  return Call{std::move(ends), kLogUniform, place, place(0, text.size())};
}

// logspace of other modules, which takes exponents; `text` is without the module.
std::string instead_of_logspace(const std::string& text, const PlaceInFile& place) {
  const auto call = call_of(text, kLogspace, place);
  const bool is_whole =
      call && call->arguments.size() == 3 && parse_number<int64_t>(call->arguments[2].text);
  const auto meant = is_whole ? with_ends_themselves(*call) : std::nullopt;
  return (meant ? "write " + *meant : kLogspace.form) +
         std::string("; it takes the ends themselves, not their exponents");
}

// What other tools call otherwise.
std::string instead_of(const std::string& function) {
  if (function == "uniform") return "interval(low,high) draws uniformly";
  if (function == "geomspace") return kLogspace.form;
  if (function.starts_with("log") || function == "tag") return kLogUniform.form;
  if (function == "choice") return kChoice.form;
  if (function == "range" || function == "arange" || function == "randint") return kRange.form;
  if (function == "linspace") return kLinspace.form;
  if (function.starts_with("grid")) return "separate the values by commas, without a function";
  return "choose one of choice, range, linspace, logspace, interval and loguniform";
}

std::vector<SweepValue> parse_list(const std::vector<ListPart>& parts, const SourceSpan& all,
                                   const PlaceInFile& place) {
  std::vector<SweepValue> values;
  for (const ListPart& part : parts)
    values.push_back({part.text, place(part.begin, part.text.size())});
  for (const SweepValue& value : values) {
    if (value.text.empty() && values.size() > 1)
      throw RecipeError(all, "a value is missing next to a comma",
                        values.back().text.empty()
                            ? "remove the last comma, or leave no blank after it"
                            : "write \"\" for an empty string");
    const bool quoted = value.text.starts_with('"') || value.text.starts_with('\'');
    if (quoted && end_of_quoted(value.text, 0) == std::string::npos)
      throw RecipeError(value.where, "the closing quote is missing",
                        "quote each value, and all of them for the shell: 'key=\"a\",\"b\"'");
  }
  return values;
}

}  // namespace

std::vector<ListPart> split_list(const std::string& text, size_t begin, size_t end) {
  std::vector<ListPart> parts{{"", begin}};
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
  for (ListPart& part : parts) trim(part);
  return parts;
}

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

Diagnostic step_is_no_count(const CountedRange& range, bool takes_integers) {
  const auto first = parse_number<int64_t>(range.first), last = parse_number<int64_t>(range.last);
  const bool are_whole = takes_integers && first && last && *last < INT64_MAX;
  return {range.where, "the range has one value: its third number is the step, not the count",
          are_whole ? "for the whole numbers from " + range.first + " to " + range.last +
                          ", write range(" + range.first + "," + std::to_string(*last + 1) + ")"
                    : "for " + range.count + " values, write linspace(" + range.first + "," +
                          range.last + "," + range.count + ")"};
}

SweepValues parse_sweep_values(const std::string& text, const PlaceInFile& place) {
  const SourceSpan all = place(0, text.size());
  if (const auto call = call_of(text, kRange, place))
    return {expand_range(*call), {}, counted_range(*call)};
  if (const auto call = call_of(text, kLinspace, place)) return {expand_space(*call, false), {}};
  if (const auto call = call_of(text, kLogspace, place)) return {expand_space(*call, true), {}};
  if (const auto call = call_of(text, kInterval, place)) return {{}, interval_of(*call, false)};
  if (const auto call = call_of(text, kLogUniform, place)) return {{}, interval_of(*call, true)};
  if (const auto call = call_of_log(text, place)) return {{}, interval_of(*call, true)};
  if (const auto name = foreign_range(text)) {
    const size_t module = name->rfind('.') + 1;  // 0 without one
    const std::string function = name->substr(module);
    const auto behind_module = [&](size_t begin, size_t size) {
      return place(module + begin, size);
    };
    throw RecipeError(all, "'" + *name + "' is not a sweep function",
                      function == "logspace"
                          ? instead_of_logspace(text.substr(module), behind_module)
                          : instead_of(function));
  }
  if (const auto call = call_of(text, kChoice, place))
    return {parse_list(call->arguments, all, place), {}};
  return {parse_list(split_list(text, 0, text.size()), all, place), {}};
}

std::string instead_of_bare_interval(const std::string& text) {
  const size_t stop = text.find(':'), step = text.find(':', stop + 1);  // npos + 1 is 0
  if (stop != text.npos && step != text.npos) {
    const auto first = parse_number<int64_t>(text.substr(0, stop));
    const auto last = parse_number<int64_t>(text.substr(stop + 1, step - stop - 1));
    const auto by = parse_number<int64_t>(text.substr(step + 1));
    if (first && last && by && *by > 0 && *first < *last && *last < INT64_MAX) {
      const uint64_t distance = static_cast<uint64_t>(*last) - static_cast<uint64_t>(*first);
      const bool may_end_there = distance % static_cast<uint64_t>(*by) == 0;
      return "write range(" + std::to_string(*first) + "," +
             std::to_string(may_end_there ? *last + 1 : *last) +
             (*by == 1 ? "" : "," + std::to_string(*by)) + ")" +
             (may_end_there ? " if " + std::to_string(*last) + " is to be tried too" : "");
    }
  }
  return "write range(start,stop) for whole numbers or linspace(low,high,n) for n values; for a "
         "random search, interval(low,high) or log:low..high";
}

std::string rounded_text(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return shortest(std::strtod(text, nullptr));
}

}  // namespace exprun
