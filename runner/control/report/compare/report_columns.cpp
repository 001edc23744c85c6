#include "control/report/compare/report_columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/files/checkpoints.h"
#include "base/format_units.h"
#include "base/terminal/terminal.h"

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

ColumnPriority priority_of_parameter(std::string_view path) {
  return table_of_parameter(path) < kTablesFirst.size() ? kPriorityParameter
                                                        : kPriorityOtherParameter;
}

// How much the parameter divides the runs: the entropy of its values (Shannon 1948), in nats. One
// that a single run changed has little, one of which each third has another value much.
double entropy(const ComparedColumn& column, const std::vector<size_t>& rows) {
  std::unordered_map<std::string_view, size_t> count_of;
  for (const size_t row : rows) {
    const bool is_own = column.changed.empty() || column.changed[row];
    ++count_of[is_own ? std::string_view(column.cells[row].text) : std::string_view()];
  }
  std::vector<size_t> counts;
  for (const auto& [text, count] : count_of) counts.push_back(count);
  std::sort(counts.begin(), counts.end());  // equal counts have equal sums, to the bit
  double sum = 0;
  for (const size_t count : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(rows.size());
    sum -= share * std::log(share);
  }
  return sum;
}

using Which = ValueName::Which;

// "val_loss"
std::string key_of(std::string series) {
  std::replace(series.begin(), series.end(), '/', '_');
  return series;
}

// What the value of a criterion is called after its key, and before its title.
std::pair<const char*, const char*> words_of(const Criterion& criterion) {
  if (criterion.value == Which::last) return {"_last", ""};
  const bool lowest = criterion.value == Which::min;
  if (lowest == (criterion.goal == Goal::lowest)) return {"_best", "best "};
  return lowest ? std::pair("_min", "lowest ") : std::pair("_max", "highest ");
}

void mark_best(ComparedColumn& metric) {
  if (metric.goal == Goal::none) return;
  const auto finite = [](const Cell& cell) {
    const auto number = cell.as_number();
    return number && std::isfinite(*number);
  };
  if (std::count_if(metric.cells.begin(), metric.cells.end(), finite) < 2) return;
  const Cell* best = nullptr;
  for (const size_t place : metric.order(metric.goal == Goal::highest)) {
    Cell& cell = metric.cells[place];
    if (!finite(cell)) continue;
    if (!best) best = &cell;
    // Of equal values all; the text of a mean tells of how many it is.
    if (cell.as_number() == best->as_number() && cell.text == best->text) cell.tone = Tone::best;
  }
}

// "evaluation.val_loss.type" with "val_loss" in each run that has it tells no more than which runs
// those are, and so does another key of the evaluation that has a value in the same runs.
bool is_told_by_others(size_t type, const std::vector<std::string>& paths,
                       const std::vector<std::vector<Cell>>& cells) {
  constexpr std::string_view kTables = "evaluation.", kType = ".type";
  const std::string& path = paths[type];
  if (!path.starts_with(kTables) || !path.ends_with(kType)) return false;
  const std::string table = path.substr(0, path.size() - kType.size() + 1);
  const std::string name = table.substr(kTables.size(), table.size() - kTables.size() - 1);
  const auto is_name = [&](const Cell& cell) { return cell.is_none() || cell.text == name; };
  if (!std::ranges::all_of(cells[type], is_name)) return false;
  for (size_t other = 0; other < paths.size(); ++other)
    if (other != type && paths[other].starts_with(table) &&
        std::ranges::equal(cells[type], cells[other], {}, &Cell::is_none, &Cell::is_none))
      return true;
  return false;
}

bool differ(const std::vector<Cell>& cells) {
  return std::ranges::any_of(cells,
                             [&](const Cell& cell) { return cell.value != cells.front().value; });
}

}  // namespace

bool ComparedColumn::has_values() const {
  return !std::ranges::all_of(cells, &Cell::is_none);
}

std::vector<size_t> ComparedColumn::order(bool highest_first) const {
  return ranks.empty() ? sorted_order(cells, highest_first) : ranked(ranks, highest_first);
}

bool is_parameter(const Column& column) {
  return column.priority == kPriorityParameter || column.priority == kPriorityOtherParameter;
}

Column value_column(const Criterion& criterion) {
  const auto& [of_key, of_title] = words_of(criterion);
  return {key_of(criterion.series) + of_key, of_title + criterion.series, true, kPriorityBest};
}

Column step_column(const Criterion& criterion) {
  return {value_column(criterion).key + "_step", "at step", true, kPriorityLater};
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
  const auto add_last = [&](const std::string& series, ColumnPriority priority,
                            const auto& of_run) {
    ComparedColumn& column =
        columns.emplace_back(ComparedColumn{value_column({series, Goal::none, Which::last}),
                                            {},
                                            goal_of(series, criterion),
                                            true,
                                            series});
    if (columns.size() > 1) column.column.priority = priority;
    for (size_t run = 0; run < runs.size(); ++run)
      column.cells.push_back(summary_cell(of_run(run), Which::last));
  };
  add_last(criterion.series, kPriorityLastValue,
           [&](size_t run) -> const std::optional<SeriesRow>& { return values[run]; });
  for (const auto& [series, of] : {std::pair("val/loss", &ReportedRun::val_loss),
                                   std::pair("train/loss", &ReportedRun::train_loss)})
    if (series != criterion.series)
      add_last(series, kPriorityMetric,
               [&, of](size_t run) -> const std::optional<SeriesRow>& { return runs[run].*of; });
  return columns;
}

std::vector<ComparedColumn> parameter_columns(const std::vector<std::string>& paths,
                                              std::vector<std::vector<Cell>> cells,
                                              const std::vector<std::string>& settings, bool all) {
  std::vector<size_t> shown;
  for (size_t i = 0; i < paths.size(); ++i)
    if (all || (differ(cells[i]) && !is_told_by_others(i, paths, cells))) shown.push_back(i);
  std::vector<ComparedColumn> columns;
  for (const size_t i : shown) {
    const bool right = all_numbers(cells[i]);
    columns.push_back(
        {{paths[i], short_title(paths[i], settings), right, priority_of_parameter(paths[i])},
         std::move(cells[i])});
    columns.back().if_different = !all;
  }
  return columns;
}

namespace {

std::vector<ComparedColumn> by_entropy(std::vector<ComparedColumn> parameters,
                                       const std::vector<size_t>& rows) {
  std::vector<std::tuple<size_t, double, size_t, size_t>> order;
  for (size_t i = 0; i < parameters.size(); ++i)
    order.emplace_back(parameters[i].column.priority, -entropy(parameters[i], rows),
                       table_of_parameter(parameters[i].column.key), i);
  std::sort(order.begin(), order.end());
  std::vector<ComparedColumn> ordered;
  for (const auto& place : order) ordered.push_back(std::move(parameters[std::get<3>(place)]));
  return ordered;
}

bool are_equal(const std::vector<Cell>& cells, const std::vector<size_t>& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](size_t row) { return cells[row].value == cells[rows.front()].value; });
}

// Those parameters in the places of all of them, in the order of these rows.
void order_parameters(std::vector<ComparedColumn>& columns, const std::vector<size_t>& rows) {
  std::vector<ComparedColumn*> places;
  std::vector<ComparedColumn> parameters;
  for (ComparedColumn& column : columns) {
    if (!column.if_different || !is_parameter(column.column)) continue;
    places.push_back(&column);
    parameters.push_back(std::move(column));
  }
  parameters = by_entropy(std::move(parameters), rows);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = std::move(parameters[i]);
}

}  // namespace

std::vector<ComparedColumn> by_entropy(std::vector<ComparedColumn> parameters) {
  std::vector<size_t> all(parameters.empty() ? 0 : parameters.front().cells.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return by_entropy(std::move(parameters), all);
}

void set_changed(std::vector<ComparedColumn>& columns, const std::vector<ReportedRun>& runs,
                 const Store& store) {
  for (ComparedColumn& column : columns) {
    const std::set<int64_t> changed = store.runs_that_changed(column.column.key);
    for (const ReportedRun& reported : runs)
      column.changed.push_back(changed.contains(reported.run.id));
  }
}

void keep_different(std::vector<ComparedColumn>& columns, const std::vector<size_t>& rows) {
  if (rows.size() < 2) return;
  std::erase_if(columns, [&](const ComparedColumn& column) {
    return column.if_different && are_equal(column.cells, rows);
  });
  order_parameters(columns, rows);
}

std::optional<ComparedColumn> fork_column(const std::vector<ReportedRun>& runs) {
  const bool differ = std::any_of(runs.begin(), runs.end(), [&](const ReportedRun& reported) {
    return reported.run.origin != runs.front().run.origin;
  });
  if (!differ) return std::nullopt;
  ComparedColumn column{{"origin", "forked at", false, kPriorityFork}, {}};
  column.if_different = true;
  for (const ReportedRun& reported : runs)
    column.cells.push_back(reported.run.origin.empty()
                               ? Cell::none()
                               : Cell::word(describe_origin(reported.run.origin)));
  return column;
}

std::vector<ComparedColumn> columns_of_runs(const std::vector<ReportedRun>& runs,
                                            std::vector<ComparedColumn> parameters,
                                            std::vector<ComparedColumn> metrics) {
  std::vector<ComparedColumn> columns;
  const auto add = [&](Column column, Cell (*cell)(const RunRow&)) {
    auto& cells = columns.emplace_back(ComparedColumn{std::move(column), {}}).cells;
    cells.reserve(runs.size());
    for (const ReportedRun& each : runs) cells.push_back(cell(each.run));
  };
  add({"run", "run"}, [](const RunRow& run) { return Cell::word(run.folder); });
  const auto append = [&](std::vector<ComparedColumn>& more) {
    std::move(more.begin(), more.end(), std::back_inserter(columns));
  };
  append(metrics);
  append(parameters);
  add({"step", "step", true, kPriorityStep}, [](const RunRow& run) { return steps_cell(run); });
  add({"state", "state", false, kPriorityState}, [](const RunRow& run) { return state_cell(run); });
  add({"seconds", "time", true, kPriorityTime},
      [](const RunRow& run) { return Cell::number(run.seconds, duration(run.seconds)); });
  return columns;
}

void shorten_parameters(std::vector<ComparedColumn>& columns) {
  for (ComparedColumn& column : columns)
    if (is_parameter(column.column) || column.if_different)
      for (Cell& cell : column.cells) {
        if (const auto checkpoint = checkpoint_at(cell.text))
          cell.text = "step " + with_thousands(checkpoint->step) + " of " +
                      checkpoint->run.path.filename().string();
        cell.text = shortened(cell.text, kWidestCell);
      }
}

ResultTable table_of(std::vector<ComparedColumn> columns, const std::vector<size_t>& order) {
  // The first parameter tells the rows apart best; the metric has its room before the others.
  bool is_first = true;
  for (ComparedColumn& each : columns)
    if (each.column.priority == kPriorityParameter && !std::exchange(is_first, false))
      each.column.priority = kPriorityFurtherParameter;
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
