#include "control/sweep/analysis.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format_units.h"
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

std::vector<Importance> importance_of_axes(const std::vector<ScoredPoint>& points) {
  std::vector<Importance> axes;
  std::set<std::string> known;
  for (const ScoredPoint& point : points)
    for (const auto& [axis, value] : point.values)
      if (!is_replicate(axis) && known.insert(axis).second)
        axes.push_back({axis, explained_by(groups_of(points, axis))});
  return axes;
}

std::vector<Replicates> replicates_of(const std::vector<ScoredPoint>& points) {
  std::vector<std::pair<std::string, std::vector<double>>> groups;
  bool has_replicate = false;
  for (const ScoredPoint& point : points) {
    std::string changes;
    for (const auto& [axis, value] : point.values) {
      has_replicate |= is_replicate(axis);
      if (!is_replicate(axis)) changes += (changes.empty() ? "" : " ") + axis + "=" + value;
    }
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.first == changes; });
    if (same == groups.end())
      groups.push_back({changes, {point.score}});
    else
      same->second.push_back(point.score);
  }
  std::vector<Replicates> replicates;
  if (!has_replicate) return replicates;
  for (const auto& [changes, scores] : groups) {
    const size_t count = scores.size();
    const double deviation =
        count < 2 ? 0 : std::sqrt(squares_of(scores) / static_cast<double>(count - 1));
    replicates.push_back({changes.empty() ? "all" : changes, count, mean_of(scores), deviation});
  }
  return replicates;
}

}  // namespace exprun
