#include "control/report/compare/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "base/format_units.h"

namespace exprun {
namespace {

// What experiments are usually about, in this order; parameters of other tables, such as the path
// of the data or the prompt of a sample, stand last.
constexpr std::array<std::string_view, 6> kTablesFirst = {"optimizer.", "model.",     "schedule.",
                                                          "batch.",     "precision.", "run."};

size_t table_of_parameter(std::string_view path) {
  const auto found = std::find_if(kTablesFirst.begin(), kTablesFirst.end(),
                                  [&](std::string_view table) { return path.starts_with(table); });
  return static_cast<size_t>(found - kTablesFirst.begin());
}

ColumnRank rank_of_parameter(std::string_view path) {
  return table_of_parameter(path) < kTablesFirst.size() ? kRankParameter : kRankOtherParameter;
}

// How much the parameter divides the runs: the entropy of its values (Shannon 1948), in nats. One
// that a single run changed has little, one of which each third has another value much.
double entropy(const std::vector<Cell>& cells) {
  std::unordered_map<std::string_view, size_t> count_of;
  for (const Cell& cell : cells) ++count_of[cell.text];
  std::vector<size_t> counts;
  for (const auto& [text, count] : count_of) counts.push_back(count);
  std::sort(counts.begin(), counts.end());  // equal counts have equal sums, to the bit
  double sum = 0;
  for (const size_t count : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(cells.size());
    sum -= share * std::log(share);
  }
  return sum;
}

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
  const RunState first = runs[group.front()].run.state;
  const auto like = [&](RunState state) {
    return static_cast<size_t>(std::count_if(
        group.begin(), group.end(), [&](size_t run) { return runs[run].run.state == state; }));
  };
  if (like(first) == group.size()) return state_cell(first);
  return Cell::word(std::to_string(like(RunState::finished)) + " of " +
                    std::to_string(group.size()) + " finished");
}

Spread spread_of(const ComparedColumn& metric, const std::vector<size_t>& group) {
  std::vector<double> values;
  for (const size_t run : group)
    if (const auto value = metric.cells[run].as_number()) values.push_back(*value);
  return exprun::spread_of(std::move(values));
}

using Which = ValueName::Which;

// "val_loss"
std::string key_of(std::string series) {
  std::replace(series.begin(), series.end(), '/', '_');
  return series;
}

// What the value of a criterion is called behind its key, and before its title.
std::pair<const char*, const char*> words_of(const Criterion& criterion) {
  if (criterion.value == Which::last) return {"_last", ""};
  const bool lowest = criterion.value == Which::min;
  if (lowest == (criterion.goal == Goal::lowest)) return {"_best", "best "};
  return lowest ? std::pair("_min", "lowest ") : std::pair("_max", "highest ");
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

void mark_best(ComparedColumn& metric) {
  if (metric.goal == Goal::none) return;
  const auto finite = [](const Cell& cell) {
    const auto number = cell.as_number();
    return number && std::isfinite(*number);
  };
  if (std::count_if(metric.cells.begin(), metric.cells.end(), finite) < 2) return;
  Cell* best = nullptr;
  for (Cell& cell : metric.cells) {
    if (!finite(cell)) continue;
    const bool better =
        best && (metric.goal == Goal::lowest ? *cell.as_number() < *best->as_number()
                                             : *cell.as_number() > *best->as_number());
    if (!best || better) best = &cell;
  }
  best->tone = Tone::best;
}

}  // namespace

bool ComparedColumn::has_values() const {
  return std::any_of(cells.begin(), cells.end(),
                     [](const Cell& cell) { return cell.value.index() != 0; });
}

bool is_parameter(const Column& column) {
  return column.rank == kRankParameter || column.rank == kRankOtherParameter;
}

Criterion best_value_of(std::string series, bool maximize) {
  return {std::move(series), maximize ? Goal::highest : Goal::lowest,
          maximize ? Which::max : Which::min};
}

Goal goal_of(std::string_view series, const Criterion& recorded) {
  if (series == recorded.series) return recorded.goal;
  const std::string_view last = series.substr(series.rfind('/') + 1);
  const auto has = [&](std::string_view word) { return last.find(word) != last.npos; };
  for (const char* word : {"acc", "score", "f1", "bleu", "mfu", "per_second", "reward"})
    if (has(word)) return Goal::highest;
  if (last.ends_with("per_s")) return Goal::highest;
  for (const char* word : {"loss", "perplexity", "ppl", "bits_per", "error"})
    if (has(word)) return Goal::lowest;
  return Goal::none;
}

Column value_column(const Criterion& criterion) {
  const auto& [of_key, of_title] = words_of(criterion);
  return {key_of(criterion.series) + of_key, of_title + criterion.series, true, kRankBest};
}

Column step_column(const Criterion& criterion) {
  return {value_column(criterion).key + "_step", "at step", true, kRankLater};
}

std::vector<ComparedColumn> usual_metrics(const std::vector<ReportedRun>& runs,
                                          const Criterion& criterion,
                                          const std::vector<std::optional<SeriesRow>>& values) {
  std::vector<ComparedColumn> columns;
  if (criterion.value != Which::last) {
    columns.push_back({value_column(criterion), {}, criterion.goal, true, criterion.series});
    columns.push_back({step_column(criterion), {}, Goal::none, false});
    for (const auto& series : values) {
      columns[0].cells.push_back(summary_cell(series, criterion.value));
      columns[1].cells.push_back(summary_step(series, criterion.value));
    }
  }
  const auto add_last = [&](const std::string& series, ColumnRank rank, const auto& of_run) {
    ComparedColumn& column =
        columns.emplace_back(ComparedColumn{value_column({series, Goal::none, Which::last}),
                                            {},
                                            goal_of(series, criterion),
                                            true,
                                            series});
    if (columns.size() > 1) column.column.rank = rank;
    for (size_t run = 0; run < runs.size(); ++run)
      column.cells.push_back(summary_cell(of_run(run), Which::last));
  };
  add_last(criterion.series, kRankLast,
           [&](size_t run) -> const std::optional<SeriesRow>& { return values[run]; });
  for (const auto& [series, of] : {std::pair("val/loss", &ReportedRun::val_loss),
                                   std::pair("train/loss", &ReportedRun::train_loss)})
    if (series != criterion.series)
      add_last(series, kRankMetric,
               [&, of](size_t run) -> const std::optional<SeriesRow>& { return runs[run].*of; });
  return columns;
}

std::vector<ComparedColumn> parameter_columns(const std::vector<std::string>& paths,
                                              std::vector<std::vector<Cell>> cells, bool all) {
  std::vector<ComparedColumn> columns;
  std::vector<std::string> kept;
  for (size_t i = 0; i < paths.size(); ++i) {
    const auto differs = [&](const Cell& cell) { return cell.value != cells[i].front().value; };
    if (!all && std::none_of(cells[i].begin(), cells[i].end(), differs)) continue;
    kept.push_back(paths[i]);
    const bool right = all_numbers(cells[i]);
    columns.push_back({{paths[i], "", right, rank_of_parameter(paths[i])}, std::move(cells[i])});
  }
  for (ComparedColumn& each : columns) each.column.title = short_title(each.column.key, kept);
  return columns;
}

std::vector<ComparedColumn> by_entropy(std::vector<ComparedColumn> parameters) {
  std::vector<std::tuple<size_t, double, size_t, size_t>> order;
  for (size_t i = 0; i < parameters.size(); ++i)
    order.emplace_back(parameters[i].column.rank, -entropy(parameters[i].cells),
                       table_of_parameter(parameters[i].column.key), i);
  std::sort(order.begin(), order.end());
  std::vector<ComparedColumn> ordered;
  for (const auto& place : order) ordered.push_back(std::move(parameters[std::get<3>(place)]));
  return ordered;
}

std::vector<ComparedColumn> columns_of_runs(const std::vector<ReportedRun>& runs,
                                            std::vector<ComparedColumn> parameters,
                                            std::vector<ComparedColumn> metrics) {
  std::vector<ComparedColumn> columns = {{{"run", "run"}, {}}};
  const auto append = [&](std::vector<ComparedColumn>& more) {
    std::move(more.begin(), more.end(), std::back_inserter(columns));
  };
  append(metrics);
  append(parameters);
  const size_t step = columns.size(), state = step + 1, time = step + 2;
  columns.push_back({{"step", "step", true, kRankStep}, {}});
  columns.push_back({{"state", "state", false, kRankState}, {}});
  columns.push_back({{"seconds", "time", true, kRankTime}, {}});
  for (const size_t column : {size_t{0}, step, state, time})
    columns[column].cells.reserve(runs.size());
  for (const ReportedRun& reported : runs) {
    const RunRow& run = reported.run;
    columns[0].cells.push_back(Cell::word(run.folder));
    columns[step].cells.push_back(steps_cell(run));
    columns[state].cells.push_back(state_cell(run.state));
    columns[time].cells.push_back(Cell::number(run.seconds, duration(run.seconds)));
  }
  return columns;
}

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

ResultTable table_of(std::vector<ComparedColumn> columns, const std::vector<size_t>& order) {
  ResultTable table;
  table.rows.resize(order.size());
  for (auto& row : table.rows) row.reserve(columns.size());
  for (ComparedColumn& each : columns) {
    mark_best(each);
    table.columns.push_back(each.column);
    for (size_t row = 0; row < order.size(); ++row)
      table.rows[row].push_back(std::move(each.cells[order[row]]));
  }
  return table;
}

}  // namespace exprun
