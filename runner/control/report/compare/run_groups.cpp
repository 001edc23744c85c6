#include "control/report/compare/run_groups.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "base/format_units.h"

namespace exprun {
namespace {

constexpr double kLargest = 1e6, kSmallest = 1e-3;  // of what is written out with decimals
constexpr int kSignificant = 2;                     // digits of a deviation
constexpr int kMostDigits = 15;                     // that a double has

// Of the value as it is written with so many digits: 0.0996 is 1.0e-1 with two.
int exponent_of(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", digits - 1, value);
  return std::atoi(std::strchr(text, 'e') + 1);
}

// Without the sign of a number that is rounded to 0.
std::string fixed_unsigned_zero(double value, int decimals) {
  const std::string text = fixed(value, decimals);
  return text.starts_with('-') && text.find_first_not_of("-0.") == text.npos ? text.substr(1)
                                                                             : text;
}

// "1.915 ± 0.012"; nothing where the deviation is too small to be written beside the mean.
std::optional<std::string> with_deviation(double mean, double deviation) {
  const int decimals = std::max(0, kSignificant - 1 - exponent_of(deviation, kSignificant));
  const int before_point = mean == 0 ? 0 : std::max(0, exponent_of(mean, kSignificant));
  if (before_point + decimals > kMostDigits) return std::nullopt;
  return fixed_unsigned_zero(mean, decimals) + " ± " + fixed(deviation, decimals);
}

// "(1.24 ± 0.31)e8": both by the exponent of the larger one.
std::optional<std::string> with_common_exponent(double mean, double deviation) {
  const int exponent =
      exponent_of(std::max(std::abs(mean), deviation), std::numeric_limits<double>::digits10);
  const double power = std::pow(10.0, exponent);
  const auto text = with_deviation(mean / power, deviation / power);
  if (!text) return std::nullopt;
  return '(' + *text + ")e" + std::to_string(exponent);
}

// "finished", or "2 of 3 finished"
Cell states_cell(const std::vector<ReportedRun>& runs, const std::vector<size_t>& group) {
  const RunRow& first = runs[group.front()].run;
  const auto is_like_first = [&](size_t run) {
    return runs[run].run.state == first.state && ended_early(runs[run].run) == ended_early(first);
  };
  if (std::all_of(group.begin(), group.end(), is_like_first)) return state_cell(first);
  const auto finished = std::count_if(group.begin(), group.end(), [&](size_t run) {
    return runs[run].run.state == RunState::finished;
  });
  return Cell::word(std::to_string(finished) + " of " + std::to_string(group.size()) + " finished");
}

Spread spread_of(const ComparedColumn& metric, const std::vector<size_t>& group) {
  std::vector<double> values;
  for (const size_t run : group)
    if (const auto value = metric.cells[run].as_number()) values.push_back(*value);
  return exprun::spread_of(std::move(values));
}

void add_spreads(std::vector<ComparedColumn>& columns, const ComparedColumn& metric,
                 const std::vector<Spread>& spreads, bool for_programs) {
  ComparedColumn mean{metric.column, {}, metric.goal, true, metric.series};
  ComparedColumn deviation{{metric.column.key + "_std", "", true}, {}};
  ComparedColumn count{{metric.column.key + "_n", "", true}, {}};
  for (const Spread& spread : spreads) {
    const bool some = spread.count > 0, several = spread.count > 1;
    mean.cells.push_back(some ? Cell::number(spread.mean, to_string(spread)) : Cell::none());
    deviation.cells.push_back(several ? Cell::number(spread.deviation) : Cell::none());
    count.cells.push_back(Cell::integer(static_cast<int64_t>(spread.count)));
  }
  columns.push_back(std::move(mean));
  if (!for_programs) return;
  columns.push_back(std::move(deviation));
  columns.push_back(std::move(count));
}

}  // namespace

std::vector<std::vector<size_t>> groups_of(const std::vector<ComparedColumn>& by, size_t runs) {
  std::vector<std::vector<size_t>> groups;
  std::map<std::vector<std::string>, size_t> known;
  for (size_t run = 0; run < runs; ++run) {
    std::vector<std::string> values;
    for (const ComparedColumn& column : by) {
      const Cell& cell = column.cells[run];
      values.push_back(cell.value.index() == 0 ? "" : "=" + cell.text);
    }
    const auto [group, added] = known.emplace(std::move(values), groups.size());
    if (added) groups.emplace_back();
    groups[group->second].push_back(run);
  }
  return groups;
}

Spread spread_of(std::vector<double> values) {
  // The same sums in whatever order the runs stand; NaN has no place in an order.
  if (std::none_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
    std::sort(values.begin(), values.end());
  Spread spread{0, 0, values.size()};
  const auto n = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / (n - 1));
  if (values.size() < 2) spread.deviation = std::numeric_limits<double>::quiet_NaN();
  return spread;
}

std::string mean_text(const Spread& spread) {
  if (spread.count == 1) return four_digits(spread.mean);
  const double larger = std::max(std::abs(spread.mean), spread.deviation);
  const bool plain = larger >= kSmallest && larger < kLargest;
  std::optional<std::string> text;
  if (spread.deviation > 0 && std::isfinite(larger))
    text = plain ? with_deviation(spread.mean, spread.deviation)
                 : with_common_exponent(spread.mean, spread.deviation);
  return text.value_or(four_digits(spread.mean) + " ± " + four_digits(spread.deviation));
}

std::string to_string(const Spread& spread) {
  if (spread.count == 0) return "";
  return mean_text(spread) + " (" + std::to_string(spread.count) + ")";
}

std::vector<ComparedColumn> columns_of_groups(const std::vector<ReportedRun>& runs,
                                              const std::vector<std::vector<size_t>>& groups,
                                              const std::vector<ComparedColumn>& by,
                                              const std::vector<ComparedColumn>& metrics,
                                              bool for_programs) {
  std::vector<ComparedColumn> columns;
  for (const ComparedColumn& parameter : by) {
    ComparedColumn& column = columns.emplace_back(ComparedColumn{parameter.column, {}});
    column.column.rank = 0;
    column.if_different = parameter.if_different;
    for (const auto& group : groups) column.cells.push_back(parameter.cells[group.front()]);
  }
  ComparedColumn sizes{{"runs", "runs", true, kRankStep}, {}};
  for (const auto& group : groups)
    sizes.cells.push_back(Cell::integer(static_cast<int64_t>(group.size())));
  columns.push_back(std::move(sizes));
  for (const ComparedColumn& metric : metrics) {
    if (!metric.averaged) continue;
    std::vector<Spread> spreads;
    for (const auto& group : groups) spreads.push_back(spread_of(metric, group));
    add_spreads(columns, metric, spreads, for_programs);
  }
  ComparedColumn states{{"state", "state", false, kRankState}, {}};
  for (const auto& group : groups) states.cells.push_back(states_cell(runs, group));
  columns.push_back(std::move(states));
  return columns;
}

}  // namespace exprun
