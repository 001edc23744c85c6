#include "control/sweep/analysis.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/format_units.h"
#include "control/report/runs_table.h"
#include "recipe/key_path.h"
#include "recipe/sweep/sweep_space.h"

namespace exprun {
namespace {

constexpr size_t kQuantiles = 4;

std::optional<std::string> value_of(const ScoredPoint& point, const std::string& axis) {
  for (const auto& [key, value] : point.values)
    if (key == axis) return value;
  return std::nullopt;
}

// The points of an axis by its values: point i is in groups[i], numbered as they appear.
struct Factor {
  std::vector<size_t> groups;
  size_t count = 0;

  bool operator==(const Factor&) const = default;
};

Factor numbered(const std::vector<std::string>& values) {
  std::map<std::string, size_t> known;
  Factor factor;
  for (const std::string& value : values)
    factor.groups.push_back(known.try_emplace(value, known.size()).first->second);
  factor.count = known.size();
  return factor;
}

// Groups of neighbours, equal numbers together; nothing where the values are no numbers.
std::optional<Factor> in_quantiles(const std::vector<std::string>& values) {
  std::vector<std::pair<double, size_t>> by_number;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto number = parse_number<double>(values[i]);
    if (!number) return std::nullopt;
    by_number.emplace_back(*number, i);
  }
  std::sort(by_number.begin(), by_number.end());
  std::vector<std::string> quantiles(values.size());
  size_t first = 0;  // of those with the same number
  for (size_t rank = 0; rank < by_number.size(); ++rank) {
    if (by_number[rank].first != by_number[first].first) first = rank;
    quantiles[by_number[rank].second] = std::to_string(first * kQuantiles / by_number.size());
  }
  return numbered(quantiles);
}

// How many points there are but for the replicate.
size_t different_points(const std::vector<ScoredPoint>& points) {
  std::set<std::string> different;
  for (const ScoredPoint& point : points)
    different.insert(to_string(without_replicate(point.values)));
  return different.size();
}

enum class Numbers { as_they_are, grouped };  // into quantiles, where few points have the same one

Factor factor_of(const std::vector<ScoredPoint>& points, const std::string& axis, size_t different,
                 Numbers numbers) {
  std::vector<std::string> values;
  for (const ScoredPoint& point : points) values.push_back(value_of(point, axis).value_or(""));
  const Factor factor = numbered(values);
  const bool is_kept = factor.count <= kQuantiles || factor.count * 2 <= different;
  if (numbers == Numbers::as_they_are || is_kept) return factor;
  return in_quantiles(values).value_or(factor);
}

// Whether each group of `fine` lies in one of `coarse`: then an effect of the second is one of the
// first too.
bool refines(const Factor& fine, const Factor& coarse) {
  std::vector<std::optional<size_t>> group_of(fine.count);
  for (size_t i = 0; i < fine.groups.size(); ++i) {
    auto& group = group_of[fine.groups[i]];
    if (group.value_or(coarse.groups[i]) != coarse.groups[i]) return false;
    group = coarse.groups[i];
  }
  return true;
}

double squares_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

// Takes the means of its groups away from the values; how much that changes them, squared.
double subtract_means(std::vector<double>& values, const Factor& factor) {
  std::vector<double> sums(factor.count), counts(factor.count);
  for (size_t i = 0; i < values.size(); ++i) {
    sums[factor.groups[i]] += values[i];
    ++counts[factor.groups[i]];
  }
  double change = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double mean = sums[factor.groups[i]] / counts[factor.groups[i]];
    values[i] -= mean;
    change += mean * mean;
  }
  return change;
}

using Factors = std::vector<Factor>;

// What the sum of an effect of each factor leaves of the values, squared: the means of one factor
// after the other are taken away until none is left.
double residual(std::vector<double> values, const Factors& factors) {
  constexpr int kMostRounds = 200;
  constexpr double kNothing = 1e-24;
  const double total = squares_of(values);
  for (int round = 0; round < kMostRounds; ++round) {
    double change = 0;
    for (const Factor& factor : factors) change += subtract_means(values, factor);
    if (change <= kNothing * total) break;
  }
  return squares_of(values);
}

// The degrees of freedom that a factor adds to those that it refines.
size_t degrees_of(const Factor& factor, const Factors& all) {
  size_t coarser = 0;
  for (const Factor& other : all)
    if (other.count < factor.count && refines(factor, other)) coarser += degrees_of(other, all);
  return factor.count - 1 - std::min(factor.count - 1, coarser);
}

size_t degrees_of(const Factors& factors) {
  size_t degrees = 0;
  for (const Factor& factor : factors) degrees += degrees_of(factor, factors);
  return degrees;
}

// The axes in which some points differ. Axes that part the points alike, as those of a zip, are one
// factor. Where all points differ in one, nothing tells its effect from those of the others.
struct Design {
  Factors factors;
  std::map<std::string, size_t> factor_of_axis;
};

Design design_of(const std::vector<ScoredPoint>& points, const std::vector<std::string>& axes,
                 Numbers numbers) {
  Design design;
  const size_t different = different_points(points);
  for (const std::string& axis : axes) {
    const Factor factor = factor_of(points, axis, different, numbers);
    if (factor.count < 2) continue;
    const auto known = std::find(design.factors.begin(), design.factors.end(), factor);
    design.factor_of_axis[axis] = static_cast<size_t>(known - design.factors.begin());
    if (known == design.factors.end()) design.factors.push_back(factor);
  }
  return design;
}

// Where many numbers of an axis are grouped, as many degrees of freedom are needed for the noise as
// for the axes, or nothing is told: what differs within fewer groups would count as noise. Nothing
// is grouped where nothing else differs.
Design design_for(const std::vector<ScoredPoint>& points, const std::vector<std::string>& axes) {
  Design whole = design_of(points, axes, Numbers::as_they_are);
  Design grouped = design_of(points, axes, Numbers::grouped);
  if (grouped.factors.size() < 2 || grouped.factors == whole.factors) return whole;
  return 2 * degrees_of(grouped.factors) < points.size() ? grouped : Design{};
}

// How much of the variance each factor explains; empty where nothing is left to tell noise by, or
// too few points to tell the factors apart.
std::vector<double> explained_by(const std::vector<ScoredPoint>& points, const Factors& factors) {
  constexpr double kRounding = 1e-24;
  const size_t degrees = degrees_of(factors);
  if (points.size() < degrees + 2) return {};
  std::vector<double> scores;
  for (const ScoredPoint& point : points) scores.push_back(point.score);
  const double size = squares_of(scores);
  subtract_means(scores, {std::vector<size_t>(points.size()), 1});
  const double total = squares_of(scores);
  if (total <= kRounding * size) return std::vector<double>(factors.size());
  const double noise = residual(scores, factors) / static_cast<double>(points.size() - 1 - degrees);
  std::vector<double> explained;
  for (const Factor& factor : factors) {
    Factors others;  // without those that would explain the same
    for (const Factor& other : factors)
      if (!refines(other, factor)) others.push_back(other);
    const double without = residual(scores, others);
    others.push_back(factor);
    const double by_chance = noise * static_cast<double>(degrees_of(factor, factors));
    const double share = (without - residual(scores, others) - by_chance) / total;
    explained.push_back(std::max(0.0, share));
  }
  // Points that do not cross the axes evenly let each claim what another one may have caused.
  constexpr double kAll = 1 + 1e-9;
  if (std::accumulate(explained.begin(), explained.end(), 0.0) > kAll) return {};
  return explained;
}

// In the order of the points, without that of replicates.
std::vector<std::string> axes_of(const std::vector<ScoredPoint>& points) {
  std::vector<std::string> axes;
  for (const ScoredPoint& point : points)
    for (const auto& [axis, value] : point.values)
      if (!is_replicate(axis) && std::find(axes.begin(), axes.end(), axis) == axes.end())
        axes.push_back(axis);
  return axes;
}

// Where the sign after the key is, if a key with a value begins there; else npos.
size_t begins_with_key(const std::string& changes, size_t begin) {
  const size_t sign = changes.find_first_of("= ", begin);
  return sign == begin || sign == std::string::npos || changes[sign] == ' ' ? std::string::npos
                                                                            : sign;
}

}  // namespace

AxisValues axis_values(const std::string& changes) {
  AxisValues values;
  int depth = 0;
  char quote = 0;
  size_t key = begins_with_key(changes, 0);  // where its sign is
  if (key == std::string::npos) return values;
  values.emplace_back(changes.substr(0, key), "");
  for (size_t i = key + 1; i < changes.size(); ++i) {
    const char c = changes[i];
    if (c == ' ' && depth == 0 && !quote)
      if (key = begins_with_key(changes, i + 1); key != std::string::npos) {
        values.emplace_back(changes.substr(i + 1, key - i - 1), "");
        i = key;
        continue;
      }
    if (quote ? c == quote : (c == '"' || c == '\'')) quote = quote ? 0 : c;
    if (!quote) depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    values.back().second += c;
  }
  return values;
}

std::string to_string(const AxisValues& values) {
  std::string text;
  for (const auto& [axis, value] : values) text += (text.empty() ? "" : " ") + axis + "=" + value;
  return text;
}

std::vector<Importance> importance_of_axes(const std::vector<ScoredPoint>& points) {
  const std::vector<std::string> axes = axes_of(points);
  const Design design = design_for(points, axes);
  const std::vector<double> explained = explained_by(points, design.factors);
  std::vector<Importance> result;
  std::map<size_t, size_t> entry_of_factor;
  for (const std::string& axis : axes) {
    const auto factor = design.factor_of_axis.find(axis);
    if (explained.empty() || factor == design.factor_of_axis.end()) {
      result.push_back({{axis}, std::nullopt});
      continue;
    }
    const auto [entry, is_new] = entry_of_factor.try_emplace(factor->second, result.size());
    if (is_new)
      result.push_back({{axis}, explained[factor->second]});
    else
      result[entry->second].axes.push_back(axis);
  }
  return result;
}

std::optional<double> unexplained_variance(const std::vector<ScoredPoint>& points) {
  const Design design = design_for(points, axes_of(points));
  const std::vector<double> explained = explained_by(points, design.factors);
  if (explained.empty()) return std::nullopt;
  return std::max(0.0, 1 - std::accumulate(explained.begin(), explained.end(), 0.0));
}

AxisValues without_replicate(const AxisValues& point) {
  AxisValues others;
  for (const auto& value : point)
    if (!is_replicate(value.first)) others.push_back(value);
  return others;
}

std::vector<Replicates> replicates_of(const std::vector<ScoredPoint>& points, bool maximize) {
  std::map<std::string, std::vector<double>> scores;  // of each point without its replicate
  bool has_replicate = false;
  for (const ScoredPoint& point : points) {
    const AxisValues others = without_replicate(point.values);
    has_replicate |= others.size() < point.values.size();
    scores[to_string(others)].push_back(point.score);
  }
  std::vector<Replicates> replicates;
  if (!has_replicate) return replicates;
  for (const auto& [point, values] : scores)
    replicates.push_back({axis_values(point), spread_of(values)});
  std::vector<Spread> spreads;
  for (const Replicates& each : replicates) spreads.push_back(each.spread);
  std::vector<Replicates> best_first;
  for (const size_t place : ranked(spreads, maximize))
    best_first.push_back(std::move(replicates[place]));
  return best_first;
}

AxisColumns::AxisColumns(const std::vector<AxisValues>& points) {
  for (const AxisValues& point : points)
    for (const auto& [axis, value] : point) {
      const auto known = std::find(axes_.begin(), axes_.end(), axis);
      const auto at = static_cast<size_t>(known - axes_.begin());
      if (known == axes_.end()) {
        axes_.push_back(axis);
        are_numbers_.push_back(true);
      }
      if (!value_cell(value).as_number()) are_numbers_[at] = false;
    }
}

std::vector<Column> AxisColumns::columns(size_t rank) const {
  std::vector<std::string> keys = axes_;
  // "lr" of a group alone is what the table of all groups has: optimizer.lr.
  for (const std::string& axis : axes_)
    if (std::ranges::count(axis, '.') > 1)
      keys.push_back(join_path(axis.substr(0, axis.find('.')), last_part(axis)));
  std::vector<Column> columns;
  for (size_t i = 0; i < axes_.size(); ++i)
    columns.push_back({axes_[i], short_title(axes_[i], keys), are_numbers_[i], rank});
  return columns;
}

std::vector<Cell> AxisColumns::cells(const AxisValues& point) const {
  std::vector<Cell> cells(axes_.size());
  for (const auto& [axis, value] : point)
    cells[static_cast<size_t>(std::find(axes_.begin(), axes_.end(), axis) - axes_.begin())] =
        value_cell(value);
  return cells;
}

}  // namespace exprun
