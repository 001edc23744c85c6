#include "control/command/report_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/strings.h"
#include "control/command/stored/recorded_criterion.h"
#include "control/report/compare/run_groups.h"
#include "recipe/series.h"
#include "recipe/sweep/sweep_space.h"

namespace exprun {

void refuse_report(const std::string& why) {
  throw Error("command line: " + why, ExitCode::bad_recipe);
}

namespace {

// Where neither a recipe nor its name says which values of a series are best, who asks for its
// lowest or highest does.
Goal goal_of(const std::string& series, ValueName::Which which, const Criterion& criterion) {
  const Goal goal = goal_of(series, criterion);
  if (goal != Goal::none) return goal;
  return which == ValueName::Which::min   ? Goal::lowest
         : which == ValueName::Which::max ? Goal::highest
                                          : Goal::none;
}

std::vector<std::optional<SeriesRow>> series_of(const Store& store,
                                                const std::vector<ReportedRun>& runs,
                                                const std::string& name) {
  std::vector<std::optional<SeriesRow>> series;
  const bool is_read = name == "val/loss";
  auto by_run = is_read ? std::map<int64_t, SeriesRow>() : store.series_by_run(name);
  for (const ReportedRun& run : runs) {
    const auto found = by_run.find(run.run.id);
    series.push_back(is_read                 ? run.val_loss
                     : found == by_run.end() ? std::nullopt
                                             : std::optional(std::move(found->second)));
  }
  return series;
}

std::vector<ComparedColumn> usual_metrics(const Store& store, const std::vector<ReportedRun>& runs,
                                          const Criterion& criterion) {
  return usual_metrics(runs, criterion, series_of(store, runs, criterion.series));
}

std::optional<size_t> place_of(const std::vector<ComparedColumn>& columns,
                               const std::string& name) {
  std::vector<Column> all;
  for (const ComparedColumn& column : columns) all.push_back(column.column);
  return find_column(all, name);
}

// A name alone is a series here, never a parameter; or the heading of a usual metric.
ComparedColumn metric_column(const Store& store, const std::vector<ReportedRun>& runs,
                             const std::string& text, const Criterion& criterion) {
  const auto source = source_of("--metric", text);
  const Extent whole{0, text.size()};
  ValueName name = parse_value_name(source, whole);
  if (name.which == ValueName::Which::plain) {
    const auto series = store.series_names();
    const bool is_series = std::find(series.begin(), series.end(), name.name) != series.end();
    std::vector<ComparedColumn> usual;
    if (!is_series) usual = usual_metrics(store, runs, criterion);
    const auto place = place_of(usual, name.name);
    if (place && usual[*place].is_metric()) return std::move(usual[*place]);
    name.which = ValueName::Which::last;
  }
  RunValues values = values_of(store, runs, name, span_of(source, 0, text.size()));
  return {{text, text, true, kPriorityBest},
          std::move(values.cells),
          goal_of(values.series, name.which, criterion),
          true,
          values.series};
}

// People are spared columns without a value; a program finds the usual ones always.
void drop_empty(std::vector<ComparedColumn>& columns) {
  std::erase_if(columns, [](const ComparedColumn& column) {
    return !column.cells.empty() && !column.has_values();
  });
}

std::vector<ComparedColumn> metrics_of(const Store& store, const std::vector<ReportedRun>& runs,
                                       const AskedReport& asked, const Criterion& criterion) {
  std::vector<ComparedColumn> columns;
  for (const std::string& name : asked.metrics) {
    columns.push_back(metric_column(store, runs, name, criterion));
    if (columns.size() > 1) columns.back().column.priority = kPriorityAsked;
  }
  if (!columns.empty()) return columns;
  columns = usual_metrics(store, runs, criterion);
  if (!asked.format.is_for_programs()) drop_empty(columns);
  return columns;
}

std::vector<ComparedColumn> parameters_of(const Store& store, const std::vector<ReportedRun>& runs,
                                          bool all) {
  if (runs.empty()) return {};
  const auto settings = store.parameter_paths();
  const auto paths = all ? settings : store.changed_parameter_paths(ids_of(runs));
  std::vector<std::vector<Cell>> cells;
  for (const std::string& path : paths) cells.push_back(parameter_values(store, runs, path).cells);
  auto columns = parameter_columns(paths, std::move(cells), settings, all);
  set_changed(columns, runs, store);
  return by_entropy(std::move(columns));
}

// What --group-by names: parameters, then columns of ls, of which a run's state is one. As in
// --where, a name of both is the column: tags are those of `exprun tag` too.
std::vector<ComparedColumn> named_groups(const Store& store, const std::vector<ReportedRun>& runs,
                                         const Words& lists) {
  std::vector<std::string> paths;
  std::vector<std::vector<Cell>> cells;
  std::vector<ComparedColumn> of_ls;
  for (const std::string& list : lists) {
    const auto source = source_of("--group-by", list);
    for (const Extent part : parts_of_list(list)) {
      const std::string name = text_of(*source, part);
      if (auto values = ls_cells(runs, name, now_ms())) {
        of_ls.push_back({{name, name, all_numbers(values->cells)}, std::move(values->cells)});
        continue;
      }
      Setting setting = setting_named(store, runs, name, span_of(source, part.begin, part.size));
      paths.push_back(std::move(setting.path));
      cells.push_back(std::move(setting.values.cells));
    }
  }
  std::vector<ComparedColumn> groups =
      parameter_columns(paths, std::move(cells), store.parameter_paths(), true);
  std::move(of_ls.begin(), of_ls.end(), std::back_inserter(groups));
  return groups;
}

bool is_seed(const ComparedColumn& column) {
  return column.column.key == kReplicateKey;
}

}  // namespace

Rows rows_of_runs(const Store& store, const std::vector<ReportedRun>& runs,
                  const AskedReport& asked) {
  const Criterion criterion = recorded_criterion(store, runs, asked.sweep);
  return {columns_of_runs(runs, parameters_of(store, runs, asked.all_parameters),
                          metrics_of(store, runs, asked, criterion)),
          true, criterion};
}

Rows rows_of(const Store& store, const std::vector<ReportedRun>& runs, const AskedReport& asked) {
  const Criterion criterion = recorded_criterion(store, runs, asked.sweep);
  auto metrics = metrics_of(store, runs, asked, criterion);
  auto parameters = parameters_of(store, runs, asked.all_parameters);
  if (auto forks = fork_column(runs)) parameters.push_back(std::move(*forks));
  const bool named = !asked.group_by.empty();
  const bool are_asked = named || asked.over_seeds;
  const bool by_itself = !asked.sweep.empty() && !asked.each_run &&
                         std::any_of(parameters.begin(), parameters.end(), is_seed);
  if (are_asked || by_itself) {
    std::vector<ComparedColumn> by = named ? named_groups(store, runs, asked.group_by) : parameters;
    if (!named) std::erase_if(by, is_seed);
    auto groups = groups_of(by, runs.size());
    const size_t repeats = keep_one_of_repeats(runs, groups, metrics);
    if (are_asked || groups.size() < runs.size()) {
      if (asked.curves)
        refuse_report(
            "--sparkline shows the curve of one run, and a row is a group of them here; leave it "
            "out, or show the runs of a sweep with --each-run");
      const auto groups_are = named || asked.sweep.empty() ? GroupsAre::any : GroupsAre::points;
      return {
          columns_of_groups(runs, groups, by, metrics, asked.format.is_for_programs(), groups_are),
          false, criterion, groups, repeats};
    }
  }
  return {columns_of_runs(runs, std::move(parameters), std::move(metrics)), true, criterion};
}

size_t column_named(const Store& store, const std::vector<ReportedRun>& runs, Rows& rows,
                    const std::shared_ptr<const SourceFile>& source, Extent part) {
  const std::string name = text_of(*source, part);
  if (const auto place = place_of(rows.columns, name)) return *place;
  const SourceSpan where = span_of(source, part.begin, part.size);
  if (!rows.are_runs) {
    std::vector<std::string> names;
    for (const ComparedColumn& column : rows.columns) names.push_back(column.column.title);
    throw RecipeError(where, "groups have no column '" + name + "'", "there are " + listed(names));
  }
  const ValueName value = parse_value_name(source, part);
  RunValues values = values_of(store, runs, value, where);
  const bool right = all_numbers(values.cells);
  const Goal goal =
      values.series.empty() ? Goal::none : goal_of(values.series, value.which, rows.criterion);
  rows.columns.push_back(
      {{name, name, right, kPriorityAsked}, std::move(values.cells), goal, true, values.series});
  return rows.columns.size() - 1;
}

std::optional<size_t> first_metric(const std::vector<ComparedColumn>& columns) {
  const auto found = std::find_if(columns.begin(), columns.end(), [](const ComparedColumn& column) {
    return column.is_metric() && column.has_values();
  });
  if (found == columns.end()) return std::nullopt;
  return static_cast<size_t>(found - columns.begin());
}

std::optional<size_t> sorting_column(const Store& store, const std::vector<ReportedRun>& runs,
                                     Rows& rows, const AskedReport& asked) {
  if (asked.sort.empty()) return first_metric(rows.columns);
  const auto source = source_of("--sort", asked.sort);
  const size_t place = column_named(store, runs, rows, source, {0, asked.sort.size()});
  rows.columns[place].if_different = false;
  return place;
}

std::vector<size_t> order_of(const Rows& rows, std::optional<size_t> by, const AskedReport& asked) {
  const ComparedColumn equal{{}, std::vector<Cell>(rows.columns.front().cells.size())};
  const ComparedColumn& column = by ? rows.columns[*by] : equal;
  return column.order((column.goal == Goal::highest) != asked.reverse);
}

void keep_top(std::vector<size_t>& order, const AskedReport& asked) {
  if (asked.top) order.resize(std::min(order.size(), static_cast<size_t>(*asked.top)));
}

std::string warning_of_data(const std::vector<ReportedRun>& runs, const Rows& rows,
                            const std::vector<size_t>& order) {
  const auto is_safe = [](const ComparedColumn& column) {
    return !column.is_metric() || is_independent_of_training_data(column.series);
  };
  if (first_metric(rows.columns) && std::ranges::all_of(rows.columns, is_safe)) return "";
  std::vector<RunRow> with_losses;
  const auto add = [&](const ReportedRun& reported) {
    if (reported.val_loss || reported.train_loss) with_losses.push_back(reported.run);
  };
  for (const size_t row : order) {
    if (rows.are_runs) add(runs[row]);
    for (const size_t run : rows.are_runs ? std::vector<size_t>() : rows.groups[row])
      add(runs[run]);
  }
  return different_data(with_losses);
}

}  // namespace exprun
