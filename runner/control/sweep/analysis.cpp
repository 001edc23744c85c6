#include "control/sweep/analysis.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/format_units.h"
#include "control/report/runs_table.h"
#include "recipe/sweep/sweep_space.h"

namespace exprun {
namespace {

constexpr size_t kQuarters = 4;

std::optional<std::string> value_of(const ScoredPoint& point, const std::string& axis) {
  for (const auto& [key, value] : point.values)
    if (key == axis) return value;
  return std::nullopt;
}

// Points by the value of an axis.
using Groups = std::map<std::string, std::vector<double>>;

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double squares_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

std::optional<double> explained_by(const Groups& groups) {
  std::vector<double> all;
  double within = 0;
  for (const auto& [value, scores] : groups) {
    all.insert(all.end(), scores.begin(), scores.end());
    within += squares_of(scores);
  }
  if (groups.size() < 2 || all.size() <= groups.size()) return std::nullopt;
  const double total = squares_of(all);
  if (total == 0) return 0;
  const auto count = static_cast<double>(all.size()), kinds = static_cast<double>(groups.size());
  return std::max(0.0, 1 - within / (count - kinds) / (total / (count - 1)));
}

// Where few points have the same number, those of a quarter of the range of ranks count as one.
std::optional<Groups> in_quarters(const std::vector<ScoredPoint>& points, const std::string& axis) {
  std::vector<std::pair<double, double>> by_number;
  for (const ScoredPoint& point : points) {
    const auto number = parse_number<double>(value_of(point, axis).value_or(""));
    if (!number) return std::nullopt;
    by_number.emplace_back(*number, point.score);
  }
  std::sort(by_number.begin(), by_number.end());
  Groups groups;
  for (size_t i = 0; i < by_number.size(); ++i)
    groups[std::to_string(i * kQuarters / by_number.size())].push_back(by_number[i].second);
  return groups;
}

Groups groups_of(const std::vector<ScoredPoint>& points, const std::string& axis) {
  Groups groups;
  for (const ScoredPoint& point : points)
    groups[value_of(point, axis).value_or("")].push_back(point.score);
  const bool are_many = groups.size() > kQuarters && groups.size() * 2 > points.size();
  if (are_many)
    if (auto quarters = in_quarters(points, axis)) return *std::move(quarters);
  return groups;
}

}  // namespace

AxisValues axis_values(const std::string& changes) {
  AxisValues values;
  std::string word;
  int depth = 0;
  char quote = 0;
  for (const char c : changes + ' ') {
    if (c == ' ' && depth == 0 && !quote) {
      const size_t sign = word.find('=');
      if (sign != std::string::npos)
        values.emplace_back(word.substr(0, sign), word.substr(sign + 1));
      word.clear();
      continue;
    }
    if (quote ? c == quote : (c == '"' || c == '\'')) quote = quote ? 0 : c;
    if (!quote) depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    word += c;
  }
  return values;
}

std::string to_string(const AxisValues& values) {
  std::string text;
  for (const auto& [axis, value] : values) text += (text.empty() ? "" : " ") + axis + "=" + value;
  return text;
}

std::vector<Importance> importance_of_axes(const std::vector<ScoredPoint>& points) {
  std::vector<Importance> axes;
  std::set<std::string> known;
  for (const ScoredPoint& point : points)
    for (const auto& [axis, value] : point.values)
      if (!is_replicate(axis) && known.insert(axis).second)
        axes.push_back({axis, explained_by(groups_of(points, axis))});
  return axes;
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
  std::stable_sort(replicates.begin(), replicates.end(), [&](const auto& a, const auto& b) {
    if (a.spread.count != b.spread.count) return a.spread.count > b.spread.count;
    return maximize ? a.spread.mean > b.spread.mean : a.spread.mean < b.spread.mean;
  });
  return replicates;
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
  std::vector<Column> columns;
  for (size_t i = 0; i < axes_.size(); ++i)
    columns.push_back({axes_[i], short_title(axes_[i], axes_), are_numbers_[i], rank});
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
