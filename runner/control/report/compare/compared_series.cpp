#include "control/report/compare/compared_series.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/format_units.h"

namespace exprun {
namespace {

constexpr double kClearly = 0.01;  // of the larger value: what people see in a plot

Cell cell_at(double value, int64_t step) {
  return Cell::number(value, four_digits(value) + " at step " + std::to_string(step));
}

const MetricRow* value_at(const std::vector<MetricRow>& values, int64_t step) {
  const auto found =
      std::lower_bound(values.begin(), values.end(), step,
                       [](const MetricRow& row, int64_t wanted) { return row.step < wanted; });
  return found != values.end() && found->step == step ? &*found : nullptr;
}

bool clearly_differ(double a, double b) {
  if (std::isfinite(a) && std::isfinite(b))
    return std::abs(a - b) > kClearly * std::max(std::abs(a), std::abs(b));
  return !(a == b || (std::isnan(a) && std::isnan(b)));
}

// As few digits as tell it from the other, four at least.
std::string digits_apart(double value, double other) {
  constexpr int kFewest = 4, kMost = std::numeric_limits<double>::max_digits10;
  char text[32], of_other[32];
  for (int digits = kFewest;; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    std::snprintf(of_other, sizeof of_other, "%.*g", digits, other);
    if (digits == kMost || std::strcmp(text, of_other) != 0) return text;
  }
}

}  // namespace

bool ComparedSeries::has_values() const {
  return std::any_of(summaries.begin(), summaries.end(),
                     [](const auto& summary) { return summary.has_value(); });
}

ComparedSeries read_series(const Store& store, const std::vector<RunRow>& runs,
                           const std::string& name, Goal goal) {
  ComparedSeries series{name, {}, {}, goal};
  const auto by_run = store.series_by_run(name);
  for (const RunRow& run : runs) {
    const auto found = by_run.find(run.id);
    const bool some = found != by_run.end() && found->second.count > 0;
    series.summaries.push_back(some ? std::optional(found->second) : std::nullopt);
    series.values.push_back(some ? store.metrics(found->second.id) : std::vector<MetricRow>());
  }
  return series;
}

std::optional<ComparedColumn> best_of(const ComparedSeries& series) {
  if (series.goal == Goal::none) return std::nullopt;
  ComparedColumn column{{"", "best " + series.name}, {}, series.goal};
  for (const auto& summary : series.summaries) {
    const bool some = summary && summary->count > summary->non_finite;
    column.cells.push_back(!some ? Cell::none()
                           : series.goal == Goal::highest
                               ? cell_at(summary->max, summary->max_step)
                               : cell_at(summary->min, summary->min_step));
  }
  return column;
}

ComparedColumn last_of(const ComparedSeries& series) {
  ComparedColumn column{{"", "last " + series.name}, {}, series.goal};
  for (const auto& summary : series.summaries)
    column.cells.push_back(summary ? cell_at(summary->last, summary->last_step) : Cell::none());
  return column;
}

std::optional<ComparedColumn> at_common_step(const ComparedSeries& series) {
  const std::vector<MetricRow>* shortest = nullptr;
  size_t having = 0;
  for (const auto& values : series.values) {
    having += !values.empty();
    if (!values.empty() && (!shortest || values.size() < shortest->size())) shortest = &values;
  }
  if (having < 2) return std::nullopt;
  const auto is_common = [&](const MetricRow& row) {
    return std::all_of(series.values.begin(), series.values.end(), [&](const auto& values) {
      return values.empty() || value_at(values, row.step);
    });
  };
  const auto last = std::find_if(shortest->rbegin(), shortest->rend(), is_common);
  if (last == shortest->rend()) return std::nullopt;
  ComparedColumn column{
      {"", series.name + " at step " + std::to_string(last->step)}, {}, series.goal};
  for (const auto& values : series.values)
    column.cells.push_back(values.empty()
                               ? Cell::none()
                               : series_cell(series.name, value_at(values, last->step)->value));
  return column;
}

std::optional<double> median_of(std::vector<MetricRow> values) {
  std::erase_if(values, [](const MetricRow& row) { return std::isnan(row.value); });
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values, {}, &MetricRow::value);
  const size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle].value;
  return (values[middle - 1].value + values[middle].value) / 2;
}

Parting parting_of(const std::vector<MetricRow>& first, const std::vector<MetricRow>& other) {
  Parting parting;
  for (const MetricRow& row : first) {
    const MetricRow* const its = value_at(other, row.step);
    if (!its) continue;
    ++parting.common_steps;
    const Parting::Pair pair{row.step, row.value, its->value};
    if (!parting.differ &&
        std::bit_cast<uint64_t>(row.value) != std::bit_cast<uint64_t>(its->value))
      parting.differ = pair;
    if (!parting.clear && clearly_differ(row.value, its->value)) parting.clear = pair;
  }
  return parting;
}

ResultTable partings_of(const std::vector<RunRow>& runs,
                        const std::vector<ComparedSeries>& all_series) {
  const std::string& first = runs.front().folder;
  ResultTable table{{{"series", "series"},
                     {"run", "against " + first},
                     {"common_steps", "common steps", true, 3},
                     {"first_difference", "first difference at step", true, 1},
                     {"value", "value", true, 4},
                     {"value_of_first", "value of " + first, true, 4},
                     {"first_above_1_percent", "1% apart at step", true, 2}},
                    {}};
  const auto step_cell = [](const std::optional<Parting::Pair>& pair) {
    return pair ? Cell::integer(pair->step) : Cell{{}, "none"};
  };
  for (const ComparedSeries& series : all_series) {
    for (size_t run = 1; run < runs.size(); ++run) {
      const Parting parting = parting_of(series.values[0], series.values[run]);
      if (parting.common_steps == 0) continue;
      const auto& differ = parting.differ;
      const auto value = [&](double Parting::Pair::*which, double Parting::Pair::*beside) {
        if (!differ) return Cell::none();
        return Cell::number((*differ).*which, digits_apart((*differ).*which, (*differ).*beside));
      };
      table.rows.push_back({Cell::word(series.name), Cell::word(runs[run].folder),
                            Cell::integer(parting.common_steps), step_cell(differ),
                            value(&Parting::Pair::other, &Parting::Pair::first),
                            value(&Parting::Pair::first, &Parting::Pair::other),
                            step_cell(parting.clear)});
    }
  }
  return table;
}

}  // namespace exprun
