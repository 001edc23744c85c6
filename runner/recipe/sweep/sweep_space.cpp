#include "recipe/sweep/sweep_space.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/format_units.h"
#include "base/sobol_sequence.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "recipe/key_path.h"
#include "recipe/recipe_text.h"
#include "recipe/schema/key_lookup.h"
#include "recipe/schema/validate_value.h"

namespace exprun {
namespace {

constexpr int64_t kMostPoints = 100'000;  // each is a whole recipe in memory; more is surely a slip
constexpr int kDrawnDigits = 6;

using File = std::shared_ptr<const SourceFile>;

// "key=values", `size` bytes of the file from `begin` on.
struct Assignment {
  std::string key, values;
  SourceSpan where;  // of the key
  size_t values_begin = 0;
};

Assignment split_assignment(const File& file, size_t begin, size_t size, const char* help) {
  const std::string text = file->text.substr(begin, size);
  const size_t equals = text.find('=');
  const SourceSpan key = span_of(file, begin, std::min(equals, text.size()));
  if (equals == 0 || equals == std::string::npos)
    throw RecipeError(key, "this is not a sweep axis", help);
  return {text.substr(0, equals), text.substr(equals + 1), key, begin + equals + 1};
}

// The axes of a zip as one: their first values together, their second values...
SweepAxis zipped(const std::vector<SweepAxis>& axes) {
  SweepAxis together = axes.front();
  for (size_t i = 1; i < axes.size(); ++i)
    for (size_t j = 0; j < together.values.size(); ++j)
      together.values[j].push_back(axes[i].values[j].front());
  return together;
}

// Before they are zipped. `where` is the place of the values of each axis.
void require_same_length(const std::vector<SweepAxis>& axes, const std::vector<SourceSpan>& where) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].counted) throw RecipeError({step_is_no_count(*axes[i].counted, false)});
    if (axes[i].interval)
      throw RecipeError(where[i], "an interval cannot be zipped",
                        "write its values, or use linspace or logspace");
    if (axes[i].values.size() != axes.front().values.size())
      throw RecipeError(where[i],
                        "'" + axes[i].key + "' has " +
                            pluralize(static_cast<int64_t>(axes[i].values.size()), "value") +
                            ", '" + axes.front().key + "' has " +
                            std::to_string(axes.front().values.size()),
                        "the keys of a zip have the same number of values");
  }
}

constexpr const char* kZipForm = "zip(key=[a,b], other=[c,d])";
constexpr const char* kZip = "zip(";

// Of a list its elements: "[2,4]" is "2,4".
SweepAxis parse_zipped(const File& file, const Assignment& part) {
  const PlaceInFile place = [&](size_t begin, size_t size) {
    return span_of(file, part.values_begin + begin, size);
  };
  const std::string& values = part.values;
  const bool is_list = values.starts_with('[') && closing_bracket(values, 0) == values.size() - 1;
  if (!is_list && split_list(values, 0, values.size()).size() == 1 && !values.ends_with(')'))
    throw RecipeError(place(0, values.size()), "'" + part.key + "' needs a list in brackets",
                      kZipForm);
  if (!is_list) return make_axis(part.key, part.where, parse_sweep_values(values, place));
  return make_axis(
      part.key, part.where,
      parse_sweep_values(values.substr(1, values.size() - 2),
                         [&](size_t begin, size_t size) { return place(begin + 1, size); }));
}

SweepAxis parse_zip(const File& file) {
  const std::string& text = file->text;
  const size_t begin = std::string(kZip).size();
  const size_t end = closing_bracket(text, begin - 1);
  if (end == text.npos)
    throw RecipeError(span_of(file, 0, text.size()), "the closing ')' of zip is missing", kZipForm);
  if (!trimmed(text.substr(end + 1)).empty())
    throw RecipeError(span_of(file, end + 1, text.size() - end - 1),
                      "unexpected text after the ')' of zip", kZipForm);
  std::vector<SweepAxis> axes;
  std::vector<SourceSpan> where;
  for (const ListPart& piece : split_list(text, begin, end)) {
    const Assignment part = split_assignment(file, piece.begin, piece.text.size(), kZipForm);
    axes.push_back(parse_zipped(file, part));
    where.push_back(span_of(file, part.values_begin, part.values.size()));
  }
  if (axes.size() < 2)
    throw RecipeError(span_of(file, 0, text.size()), "a zip needs two keys or more", kZipForm);
  require_same_length(axes, where);
  return zipped(axes);
}

SweepAxis parse_axis(const std::string& argument, size_t number) {
  const auto file = override_file(number, argument);
  const SourceSpan all = span_of(file, 0, argument.size());
  if (argument.starts_with("~")) return {argument, all, {{{argument, all, all}}}};
  if (argument.starts_with(kZip)) return parse_zip(file);
  const Assignment parts = split_assignment(file, 0, argument.size(), "write key=a,b,c");
  return make_axis(parts.key, parts.where,
                   parse_sweep_values(parts.values, [&](size_t begin, size_t size) {
                     return span_of(file, parts.values_begin + begin, size);
                   }));
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

void append(SweepPoint& point, const SweepAxis& axis, const SweepPoint& value) {
  for (const SweepChange& change : value) {
    point.push_back(change);
    point.back().is_axis = varies(axis);
  }
}

std::string drawn_text(const SweepAxis& axis, double part) {
  const Interval& interval = *axis.interval;
  double low = interval.low, high = interval.high;
  if (axis.takes_integers) {  // each owns the numbers that it is next to
    low = std::ceil(low) - 0.5;
    high = std::floor(high) + 0.5;
  }
  const double value = interval.is_log
                           ? std::exp(std::log(low) + part * (std::log(high) - std::log(low)))
                           : low + part * (high - low);
  if (axis.takes_integers)
    return std::to_string(std::llround(
        std::clamp(std::round(value), std::ceil(interval.low), std::floor(interval.high))));
  const std::string text = rounded_text(value, kDrawnDigits);
  const auto rounded = parse_number<double>(text);
  return *rounded < low ? shortest(low) : *rounded > high ? shortest(high) : text;
}

SweepChange drawn(const SweepAxis& axis, double part) {
  return {axis.key + "=" + drawn_text(axis, part), axis.where, axis.interval->where};
}

SweepPoint draw_point(const std::vector<SweepAxis>& axes, const SobolSequence& cube,
                      uint64_t number) {
  SweepPoint point;
  size_t varying = 0;
  for (const SweepAxis& axis : axes) {
    const double part = varies(axis) ? cube.coordinate(number, varying++) : 0;
    if (axis.interval)
      append(point, axis, {drawn(axis, part)});
    else
      append(point, axis,
             axis.values[static_cast<size_t>(part * static_cast<double>(axis.values.size()))]);
  }
  return point;
}

std::string text_of(const SweepPoint& point) {
  std::string text;
  for (const SweepChange& change : point) text += change.override + '\n';
  return text;
}

// How many different points there are; nothing if there are intervals.
std::optional<double> number_of_points(const std::vector<SweepAxis>& axes) {
  double count = 1;
  for (const SweepAxis& axis : axes) {
    if (axis.interval && !axis.takes_integers) return std::nullopt;
    std::set<std::string> different;
    for (const SweepPoint& value : axis.values) different.insert(text_of(value));
    count *= axis.interval ? std::floor(axis.interval->high) - std::ceil(axis.interval->low) + 1
                           : static_cast<double>(different.size());
  }
  return count;
}

}  // namespace

bool varies(const SweepAxis& axis) {
  return axis.values.size() > 1 || axis.interval;
}

SweepAxis make_axis(std::string key, const SourceSpan& where, SweepValues values) {
  SweepAxis axis{std::move(key),           where, {}, std::move(values.interval), false,
                 std::move(values.counted)};
  for (const SweepValue& value : values.list)
    axis.values.push_back(
        {{axis.key + "=" + value.text, where, value.where, false, value.is_computed}});
  return axis;
}

std::vector<SweepAxis> parse_axes(const std::vector<std::string>& arguments,
                                  Diagnostics& mistakes) {
  std::vector<SweepAxis> axes;
  for (size_t i = 0; i < arguments.size(); ++i) try {
      axes.push_back(parse_axis(arguments[i], i + 1));
    } catch (const RecipeError& error) {
      mistakes.insert(mistakes.end(), error.diagnostics().begin(), error.diagnostics().end());
    }
  return axes;
}

SweepAxis seeds_axis(int64_t first, int64_t count, const SourceSpan& where) {
  SweepAxis axis{kReplicateKey, where, {}};
  for (int64_t i = 0; i < count; ++i)
    axis.values.push_back({{axis.key + "=" + std::to_string(first + i), where, where}});
  return axis;
}

SweepAxis zip_axes(const std::vector<SweepAxis>& axes) {
  std::vector<SourceSpan> where;
  for (const SweepAxis& axis : axes) where.push_back(axis.where);
  require_same_length(axes, where);
  return zipped(axes);
}

bool is_replicate(const std::string& axis) {
  return may_be_same_key(key_of(axis), kReplicateKey);
}

std::string key_of(const std::string& override_) {
  const size_t sign = override_.find_first_not_of("~+");
  return sign == std::string::npos ? "" : override_.substr(sign, override_.find('=') - sign);
}

bool may_be_same_key(const std::string& a, const std::string& b) {
  return a == b || a.ends_with('.' + b) || b.ends_with('.' + a);
}

void remove_key(std::vector<SweepAxis>& axes, const std::string& key) {
  for (SweepAxis& axis : axes) {
    for (SweepPoint& value : axis.values)
      std::erase_if(value, [&](const SweepChange& change) {
        return may_be_same_key(key_of(change.override), key_of(key));
      });
    std::erase_if(axis.values, [](const SweepPoint& value) { return value.empty(); });
    if (axis.interval && may_be_same_key(key_of(axis.key), key_of(key))) axis.interval.reset();
  }
  std::erase_if(axes, [](const SweepAxis& axis) { return axis.values.empty() && !axis.interval; });
}

namespace {

bool takes_integers_only(const std::string& key, const Table& root, const SchemaSet& schemas) {
  for (const std::string& path : matching_paths(schemas, root, key)) {
    const Schema* schema = schema_at(schemas, root, path);
    if (schema != nullptr && allows_type(*schema, "integer") && !allows_type(*schema, "number"))
      return true;
  }
  return false;
}

constexpr double kInt64Range = 0x1p63;

// What was written as an end stays as it is, unless it is an integer in other words ("1e+06"), and
// so does what no int64_t holds.
void round_computed(SweepAxis& axis, const Table& root, const SchemaSet& schemas) {
  std::map<std::string, bool> integers;  // by key
  for (size_t i = 0; i < axis.values.size(); ++i)
    for (SweepChange& change : axis.values[i]) {
      if (!change.is_computed) continue;
      const auto [key, is_new] = integers.try_emplace(key_of(change.override));
      if (is_new) key->second = takes_integers_only(key->first, root, schemas);
      if (!key->second) continue;
      const size_t behind = change.override.find('=') + 1;
      const auto number = parse_number<double>(change.override.substr(behind));
      const bool is_end = i == 0 || i + 1 == axis.values.size();
      const bool fits = number && std::abs(*number) < kInt64Range;
      if (!fits || (is_end && *number != std::round(*number))) continue;
      change.override.replace(behind, std::string::npos, std::to_string(std::llround(*number)));
    }
  std::set<std::string> known;
  std::erase_if(axis.values, [&](const SweepPoint& value) {
    const auto is_computed = [](const SweepChange& change) { return change.is_computed; };
    return !known.insert(text_of(value)).second &&
           std::any_of(value.begin(), value.end(), is_computed);
  });
}

// What is wrong with an axis of one value that is a list, or the ends of one.
std::optional<Diagnostic> unlisted(const SweepAxis& axis, const Table& root,
                                   const SchemaSet& schemas) {
  if (axis.values.size() != 1 || axis.values.front().size() != 1) return std::nullopt;
  const SweepChange& change = axis.values.front().front();
  const std::string value = change.override.substr(change.override.find('=') + 1);
  const auto paths = matching_paths(schemas, root, axis.key);
  const Schema* schema = paths.size() == 1 ? schema_at(schemas, root, paths.front()) : nullptr;
  if (schema == nullptr) return std::nullopt;
  const bool is_list = value.starts_with('[') && value.ends_with(']');
  if (is_list && !allows_type(*schema, "array"))
    return Diagnostic{
        change.value, "'" + axis.key + "' takes no list",
        "write its values without brackets: " + axis.key + "=" + value.substr(1, value.size() - 2)};
  const bool takes_number = allows_type(*schema, "integer") || allows_type(*schema, "number");
  if (takes_number && is_bare_interval(value))
    return Diagnostic{change.value,
                      "'" + value + "' does not say which values between its ends to try",
                      instead_of_bare_interval(value)};
  return std::nullopt;
}

// Drops the axes of which something is wrong.
template <typename Problem>
void drop_wrong(std::vector<SweepAxis>& axes, Diagnostics& mistakes, Problem&& problem) {
  std::erase_if(axes, [&](const SweepAxis& axis) {
    const std::optional<Diagnostic> found = problem(axis);
    if (found) mistakes.push_back(*found);
    return found.has_value();
  });
}

}  // namespace

void find_integers(std::vector<SweepAxis>& axes, const Table& root, const SchemaSet& schemas,
                   Diagnostics& mistakes) {
  for (SweepAxis& axis : axes) {
    if (axis.interval) axis.takes_integers = takes_integers_only(axis.key, root, schemas);
    round_computed(axis, root, schemas);
  }
  drop_wrong(axes, mistakes, [&](const SweepAxis& axis) -> std::optional<Diagnostic> {
    if (!axis.counted) return std::nullopt;
    return step_is_no_count(*axis.counted, takes_integers_only(axis.key, root, schemas));
  });
  drop_wrong(axes, mistakes, [](const SweepAxis& axis) -> std::optional<Diagnostic> {
    if (!axis.takes_integers || std::ceil(axis.interval->low) <= std::floor(axis.interval->high))
      return std::nullopt;
    return Diagnostic{axis.interval->where, "no integer lies in the interval",
                      "'" + axis.key + "' takes integers only"};
  });
}

void drop_unlisted(std::vector<SweepAxis>& axes, const Table& root, const SchemaSet& schemas,
                   Diagnostics& mistakes) {
  drop_wrong(axes, mistakes, [&](const SweepAxis& axis) { return unlisted(axis, root, schemas); });
}

Diagnostics intervals_in_a_grid(const std::vector<SweepAxis>& axes) {
  Diagnostics mistakes;
  for (const SweepAxis& axis : axes)
    if (axis.interval)
      mistakes.push_back({axis.interval->where, "a grid cannot have an interval",
                          "draw N points from it with --trials N, or write " +
                              std::string(axis.interval->is_log ? "logspace" : "linspace") + "(" +
                              shortest(axis.interval->low) + "," + shortest(axis.interval->high) +
                              ",5)"});
  return mistakes;
}

std::vector<SweepAxis> with_values_only(std::vector<SweepAxis> axes) {
  for (SweepAxis& axis : axes) {
    if (!axis.interval) continue;
    axis.values = {{drawn(axis, 0.5)}};
    axis.interval.reset();
  }
  return axes;
}

std::vector<SweepPoint> expand_grid(const std::vector<SweepAxis>& axes) {
  require_countable(axes);
  std::vector<SweepPoint> points(1);
  for (const SweepAxis& axis : axes) points = with_each(points, axis);
  return points;
}

std::vector<SweepPoint> one_at_a_time(const std::vector<SweepAxis>& axes) {
  constexpr size_t kMostAtEachEnd = 500;
  if (axes.empty()) return {SweepPoint{}};
  std::vector<SweepPoint> points;
  for (const SweepAxis& varied : axes) {
    const size_t count = varied.values.size();
    for (size_t i = 0; i < count; ++i) {
      if (i >= kMostAtEachEnd && i + kMostAtEachEnd < count) continue;
      SweepPoint& point = points.emplace_back();
      for (const SweepAxis& axis : axes)
        append(point, axis, &axis == &varied ? varied.values[i] : axis.values.front());
    }
  }
  return points;
}

std::vector<SweepPoint> with_each(const std::vector<SweepPoint>& points, const SweepAxis& axis) {
  std::vector<SweepPoint> longer;
  longer.reserve(points.size() * axis.values.size());
  for (const SweepPoint& point : points)
    for (const SweepPoint& value : axis.values) {
      longer.push_back(point);
      append(longer.back(), axis, value);
    }
  return longer;
}

std::vector<SweepPoint> draw_points(const std::vector<SweepAxis>& axes, int64_t count,
                                    int64_t seed) {
  constexpr double kPatience = 100;  // an interval may be too narrow for so many numbers
  constexpr double kRounds = 2;      // the last of few points come sooner by chance
  double wanted = static_cast<double>(count);
  double draws = kPatience * wanted, even_draws = draws;
  if (const auto all = number_of_points(axes)) {
    wanted = std::min(wanted, *all);
    draws = HUGE_VAL;
    even_draws = kRounds * *all;
  }
  const SobolSequence cube(static_cast<uint64_t>(seed), even_draws);
  std::vector<SweepPoint> points;
  std::set<std::string> known;
  for (uint64_t i = 0; static_cast<double>(points.size()) < wanted; ++i) {
    if (static_cast<double>(i) >= draws) break;
    SweepPoint point = draw_point(axes, cube, i);
    if (known.insert(text_of(point)).second) points.push_back(std::move(point));
  }
  return points;
}

}  // namespace exprun
