#include "recipe/sweep_space.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "recipe/complete.h"
#include "recipe/key_path.h"
#include "recipe/merge.h"
#include "recipe/overrides.h"
#include "recipe/quantities.h"
#include "recipe/rules/rules.h"
#include "recipe/rules/series.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/validate.h"
#include "recipe/toml/write.h"

namespace exprun {
namespace {

constexpr double kMostValues = 100000;  // of one range; more is surely a slip

// Where some bytes of the text stand in its file.
using PlaceInFile = std::function<SourceSpan(size_t begin, size_t size)>;

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
                      "unexpected text after the ')' of " + name, form.help);
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
      throw RecipeError(where, "a range takes one to three numbers", kRange.help);
    numbers.push_back(*number);
    integers = integers && is_integer(part.text);
  }
  const double start = numbers.size() == 1 ? 0 : numbers[0];
  const double stop = numbers.size() == 1 ? numbers[0] : numbers[1];
  const double step = numbers.size() == 3 ? numbers[2] : 1;
  if (parts.size() == 2 && !integers && std::abs(stop - start) <= 1)
    throw RecipeError(where, "the range needs a step: the default is 1", kRange.help);
  if (step == 0) throw RecipeError(where, "the range has a step of 0", "the range would never end");
  const double count = std::ceil((stop - start) / step - 1e-9);
  if (!(count >= 1))
    throw RecipeError(where, "the range is empty",
                      "its values go from start to stop, without stop; are the two swapped?");
  if (count > kMostValues)
    throw RecipeError(where, "the range has more than 100,000 values", "use a larger step");
  std::vector<SweepValue> values;
  for (double i = 0; i < count; ++i)
    values.push_back({range_value(start + i * step, integers), where});
  return values;
}

// The values in a text: a list, choice(...) or range(...). Throws RecipeError.
std::vector<SweepValue> parse_sweep_values(const std::string& text, const PlaceInFile& place) {
  const SourceSpan all = place(0, text.size());
  if (const auto range = arguments_of(text, kRange, place)) return expand_range(*range, all);
  if (is_foreign_range(text))
    throw RecipeError(all, "'" + text.substr(0, text.find('(')) + "' is not a sweep function",
                      "write the values, as in 1e-4,1e-3,1e-2, or range(start,stop,step)");
  const auto choice = arguments_of(text, kChoice, place);
  std::vector<SweepValue> values;
  for (const Piece& part : choice ? *choice : split_list(text, 0, text.size()))
    values.push_back({part.text, place(part.begin, part.text.size())});
  for (const SweepValue& value : values)
    if (value.text.empty() && values.size() > 1)
      throw RecipeError(all, "a value is missing next to a comma",
                        "write \"\" for an empty string");
  return values;
}

constexpr int64_t kMostPoints = 100'000;  // each is a whole recipe in memory; more is surely a slip

SweepAxis parse_axis(const std::string& argument, size_t number) {
  const auto file = override_file(number, argument);
  if (argument.starts_with("~")) return {argument, span_of(file, 0, argument.size()), {}};
  const size_t equals = argument.find('=');
  const SourceSpan key = span_of(file, 0, std::min(equals, argument.size()));
  if (equals == 0 || equals == std::string::npos)
    throw RecipeError(key, "this is not a sweep axis", "write key=a,b,c");
  SweepAxis axis{argument.substr(0, equals), key, {}};
  const size_t values = equals + 1;
  axis.values = parse_sweep_values(argument.substr(values), [&](size_t begin, size_t size) {
    return span_of(file, values + begin, size);
  });
  return axis;
}

SweepAxis axis_of_entry(const Entry& entry) {
  SweepAxis axis{entry.key, entry.where, {}};
  if (const auto* text = entry.value.as<std::string>())
    axis.values = parse_sweep_values(*text, [&](size_t, size_t) { return entry.value.where; });
  else
    for (const Value& value : *entry.value.as<Array>())
      axis.values.push_back({toml_text(value), value.where});
  if (axis.values.empty())
    throw RecipeError(entry.value.where, "'" + entry.key + "' has no values",
                      "add values, or remove the key");
  return axis;
}

// Trials may differ in what they measure; then the metric is not checked.
bool changes_evaluations(const SchemaSet& schemas, const Table& root) {
  const Value* axes = valid_at(root, "sweep.axes");
  if (axes == nullptr || axes->as<Table>() == nullptr) return true;
  for (const Entry& axis : axes->as<Table>()->entries())
    for (const std::string& path : matching_paths(schemas, root, axis.key))
      if (path.starts_with("evaluation") || path.starts_with("dataset") ||
          path.starts_with("metrics"))
        return true;
  return false;
}

void check_metric(const SchemaSet& schemas, const Table& root, Diagnostics& diagnostics) {
  const auto metric = text_at(root, "sweep.metric");
  const Measured measured = measured_series(schemas, root);
  if (!metric || measured.is_uncertain || measured.has(*metric)) return;
  if (is_recorded_always(schemas, *metric)) return;
  diagnostics.push_back({place_of(root, "sweep.metric"), "no trial records '" + *metric + "'",
                         help_for_series(*metric, measured.names())});
}

// What is wrong in the rest of the recipe is said with every trial.
Extended changed_files(const RecipeText& text, const SchemaSet& schemas) {
  Diagnostics ignored;
  Extended extended = extend_files(text, schemas);
  apply_overrides(schemas, extended.root, text, ignored);
  return extended;
}

// Before there are so many: their number is the product of all axes.
void require_countable(const std::vector<SweepAxis>& axes) {
  int64_t points = 1;
  for (const SweepAxis& axis : axes) {
    points *= std::max<int64_t>(static_cast<int64_t>(axis.values.size()), 1);
    if (points > kMostPoints)
      throw RecipeError(
          axis.where,
          "the axes up to '" + axis.key + "' make " + with_thousands(points) + " trials",
          "a sweep has at most " + with_thousands(kMostPoints) + " trials");
  }
}

}  // namespace

std::vector<SweepAxis> parse_axes(const std::vector<std::string>& arguments) {
  std::vector<SweepAxis> axes;
  for (size_t i = 0; i < arguments.size(); ++i) axes.push_back(parse_axis(arguments[i], i + 1));
  return axes;
}

std::vector<SweepPoint> expand_grid(const std::vector<SweepAxis>& axes) {
  require_countable(axes);
  std::vector<SweepPoint> points(1);
  for (const SweepAxis& axis : axes) {
    SweepPoint changes;
    if (axis.key.starts_with("~")) changes.push_back({axis.key, axis.where, axis.where});
    for (const SweepValue& value : axis.values)
      changes.push_back({axis.key + "=" + value.text, axis.where, value.where});
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points)
      for (const SweepChange& change : changes) {
        longer.push_back(point);
        longer.back().push_back(change);
      }
    points = std::move(longer);
  }
  return points;
}

bool has_sweep(const RecipeText& text, const SchemaSet& schemas) {
  return changed_files(text, schemas).root.find("sweep") != nullptr;
}

std::optional<Sweep> read_sweep(const RecipeText& text, const SchemaSet& schemas) {
  Extended extended = changed_files(text, schemas);
  if (extended.root.find("sweep") == nullptr) return std::nullopt;
  Diagnostics diagnostics;
  validate(schemas, extended.root, diagnostics);
  // The rest of the recipe is checked with every trial, and so are the keys of the axes.
  diagnostics.clear();
  validate_table(schemas, extended.root, "sweep", diagnostics);
  const bool same_series = !changes_evaluations(schemas, extended.root);
  complete(schemas, extended.root, {}, text.files.front()->name);
  if (same_series) check_metric(schemas, extended.root, diagnostics);
  add_chains(text, extended, diagnostics);
  if (has_errors(diagnostics)) throw RecipeError(diagnostics);
  Sweep sweep;
  for (const Entry& axis : find_path(extended.root, "sweep.axes")->as<Table>()->entries())
    sweep.axes.push_back(axis_of_entry(axis));
  sweep.method = text_at(extended.root, "sweep.method").value_or("");
  sweep.metric = text_at(extended.root, "sweep.metric").value_or("");
  sweep.goal = text_at(extended.root, "sweep.goal").value_or("");
  return sweep;
}

}  // namespace exprun
