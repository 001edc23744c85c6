// exprun report: which runs and columns are asked for. The columns that every report has are in
// report/compare/report_columns.cpp; those that --columns, --sort and --where may name besides, and
// that `ls` has too, in report/runs_table.cpp.
#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/terminal/terminal.h"
#include "control/command/criterion.h"
#include "control/command/report_page.h"
#include "control/command/run_values.h"
#include "control/command/stored_runs.h"
#include "control/command/table_format.h"
#include "control/report/compare/report_columns.h"
#include "control/report/compare/run_groups.h"
#include "control/report/terminal.h"
#include "control/sweep/sweep_processes.h"
#include "recipe/sweep/sweep_space.h"

namespace exprun {
namespace {

constexpr size_t kMostCurves = 200;  // rows for which curves are read without being asked for
constexpr int64_t kCurveWidth = 12;

struct Asked {
  Words references;
  Where where;
  std::string sweep, sort, columns, html;
  Words metrics, group_by;
  bool reverse = false, all_parameters = false, over_seeds = false, each_run = false;
  bool curves = false, follow = false;
  std::optional<int64_t> top;
  TableFormat format;
};

void declare(Asked& asked, Arguments& arguments) {
  arguments.words("NAME...", asked.references, "only these runs: names, ids or folders",
                  offer::runs);
  asked.where.declare(arguments);
  arguments
      .option("--sweep", "ID", asked.sweep,
              "only the runs of this sweep: its id, name, uid or @last; runs that differ only in "
              "run.seed share a row",
              offer::sweeps)
      .option(
          "--metric", "NAME[:WHICH]", asked.metrics,
          "show this series instead of the usual ones; WHICH is last (default), min, max or "
          "at(STEP); or a usual heading, such as 'best val/loss'; may be repeated (default: the "
          "metric of the sweep or of the recipes, val/loss and train/loss)")
      .option("--columns", "A,B", asked.columns,
              "show these columns only; parameters and series are columns too; help lists them")
      .flag("--all-parameters", asked.all_parameters,
            "also show parameters that are the same in all runs")
      .option("--sort", "COLUMN", asked.sort,
              "sort by a column, parameter or series: a metric best first, others lowest first "
              "(default: the first metric)")
      .flag("--reverse", asked.reverse, "sort the other way around")
      .number("--top", asked.top, "show the first N rows only", 1)
      .option("--group-by", "A,B", asked.group_by,
              "a row for all runs with the same values of these parameters, with mean ± standard "
              "deviation (number of runs) of the metrics")
      .flag("--over-seeds", asked.over_seeds,
            "one row for all runs that differ only in run.seed; implied by --sweep")
      .flag("--each-run", asked.each_run, "a row for each run of a sweep over seeds")
      .flag("--sparkline", asked.curves,
            "add the curve of the first metric (default on a terminal with room for it)");
  asked.format.declare(arguments);
  arguments
      .option("--html", "FILE", asked.html,
              "write a page for a browser instead, with curves, parameters and samples; it is one "
              "file and needs no network")
      .flag("--follow", asked.follow,
            "with --html: rewrite the page every 2 s (less often if large) while runs train or a "
            "sweep continues, until Ctrl-C")
      .exit_codes(kFindsRuns)
      .example("exprun report", "every run of the store")
      .example("exprun report --where 'lr < 3e-3 and state == \"finished\"' --top 5",
               "the five best matches")
      .example(
          "exprun report --metric val/loss:min --metric 'train/loss:at(2)' --sort val/loss:min",
          "other metrics")
      .example("exprun report --over-seeds --latex", "mean and deviation over seeds, for a paper")
      .example("exprun report --html report.html", "a page to open or to send to a colleague")
      .example("exprun report quickstart --csv > runs.csv",
               "the runs of one name, for a spreadsheet");
}

// Of options that do not go together.
[[noreturn]] void refuse(const std::string& why) {
  throw Error("command line: " + why, ExitCode::bad_recipe);
}

std::vector<ReportedRun> wanted_runs(const Store& store, const StoreFolder& folder,
                                     const Asked& asked) {
  auto runs = all_runs(store, folder, referred_runs(store, folder, asked.references, asked.sweep));
  asked.where.keep_matching(store, runs);
  return runs;
}

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
  return {{text, text, true, kRankBest},
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
                                       const Asked& asked, const Criterion& criterion) {
  std::vector<ComparedColumn> columns;
  for (const std::string& name : asked.metrics) {
    columns.push_back(metric_column(store, runs, name, criterion));
    if (columns.size() > 1) columns.back().column.rank = kRankAsked;
  }
  if (!columns.empty()) return columns;
  columns = usual_metrics(store, runs, criterion);
  if (!asked.format.is_for_programs()) drop_empty(columns);
  return columns;
}

std::vector<ComparedColumn> parameters_of(const Store& store, const std::vector<ReportedRun>& runs,
                                          bool all) {
  const auto paths = all ? store.parameter_paths() : store.changed_parameter_paths();
  std::vector<std::vector<Cell>> cells;
  for (const std::string& path : paths) cells.push_back(parameter_values(store, runs, path).cells);
  if (runs.empty()) return {};
  return by_entropy(parameter_columns(paths, std::move(cells), all));
}

// What --group-by names.
std::vector<ComparedColumn> named_groups(const Store& store, const std::vector<ReportedRun>& runs,
                                         const Words& lists) {
  std::vector<std::string> paths;
  std::vector<std::vector<Cell>> cells;
  for (const std::string& list : lists) {
    const auto source = source_of("--group-by", list);
    for (const Extent part : parts_of_list(list)) {
      const std::string name = text_of(*source, part);
      paths.push_back(parameter_named(store, name, span_of(source, part.begin, part.size)));
      cells.push_back(parameter_values(store, runs, paths.back()).cells);
    }
  }
  return parameter_columns(paths, std::move(cells), true);
}

bool is_seed(const ComparedColumn& column) {
  return column.column.key == kReplicateKey;
}

// Rows: runs, or groups of runs.
struct Rows {
  std::vector<ComparedColumn> columns;
  bool are_runs = true;
  Criterion criterion = {};
};

Rows rows_of(const Store& store, const std::vector<ReportedRun>& runs, const Asked& asked) {
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
    const auto groups = groups_of(by, runs.size());
    if (are_asked || groups.size() < runs.size()) {
      if (asked.curves)
        refuse(
            "--sparkline shows the curve of one run, and a row is a group of them here; leave it "
            "out, or show the runs of a sweep with --each-run");
      return {columns_of_groups(runs, groups, by, metrics, asked.format.is_for_programs()), false,
              criterion};
    }
  }
  return {columns_of_runs(runs, std::move(parameters), std::move(metrics)), true, criterion};
}

// The column of this name; of runs, a value that is none yet becomes one.
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
      {{name, name, right, kRankAsked}, std::move(values.cells), goal, true, values.series});
  return rows.columns.size() - 1;
}

// The first metric that has a value.
std::optional<size_t> first_metric(const std::vector<ComparedColumn>& columns) {
  const auto found = std::find_if(columns.begin(), columns.end(), [](const ComparedColumn& column) {
    return column.is_metric() && column.has_values();
  });
  if (found == columns.end()) return std::nullopt;
  return static_cast<size_t>(found - columns.begin());
}

// The column of --sort, else the first metric.
std::optional<size_t> sorting_column(const Store& store, const std::vector<ReportedRun>& runs,
                                     Rows& rows, const Asked& asked) {
  return asked.sort.empty() ? first_metric(rows.columns)
                            : column_named(store, runs, rows, source_of("--sort", asked.sort),
                                           {0, asked.sort.size()});
}

// As they are where no column sorts.
std::vector<size_t> order_of(const Rows& rows, std::optional<size_t> by, const Asked& asked) {
  const size_t count = rows.columns.front().cells.size();
  const std::vector<Cell> equal(by ? 0 : count);
  const std::vector<Cell>& cells = by ? rows.columns[*by].cells : equal;
  const bool highest_first = by && rows.columns[*by].goal == Goal::highest;
  auto order = sorted_order(cells, highest_first != asked.reverse);
  if (asked.top) order.resize(std::min(order.size(), static_cast<size_t>(*asked.top)));
  return order;
}

std::vector<ComparedColumn> chosen(const std::vector<ComparedColumn>& columns,
                                   const std::vector<size_t>& places) {
  std::vector<ComparedColumn> some;
  for (const size_t place : places) some.push_back(columns[place]);
  return some;
}

// Of the rows that are shown.
void drop_equal_parameters(std::vector<ComparedColumn>& columns, const std::vector<size_t>& shown) {
  std::erase_if(columns, [&](const ComparedColumn& column) {
    return is_parameter(column.column) && std::ranges::all_of(shown, [&](size_t row) {
             return column.cells[row].value == column.cells[shown.front()].value;
           });
  });
}

// The series of this name, as a line of bars.
void add_curves(ResultTable& table, const Store& store, const std::vector<ReportedRun>& runs,
                const std::vector<size_t>& order, const std::string& name, bool asked) {
  const auto series = store.series_by_run(name);
  table.columns.push_back({"curve", name + " curve", false, asked ? kRankAsked : kRankCurve, true});
  for (size_t row = 0; row < order.size(); ++row) {
    std::vector<double> values;
    const auto found = series.find(runs[order[row]].run.id);
    if (found != series.end())
      for (const MetricRow& point : store.thinned_metrics(found->second.id, kCurveWidth))
        values.push_back(point.value);
    table.rows[row].push_back(values.empty() ? Cell::none() : Cell::word(sparkline(values)));
  }
}

bool wants_curves(const Asked& asked, const Rows& rows, size_t count) {
  if (asked.curves) return true;
  return rows.are_runs && asked.format.is_plain() && asked.columns.empty() &&
         terminal_width() > 0 && count <= kMostCurves;
}

ResultTable table_of(const Store& store, const std::vector<ReportedRun>& runs, const Asked& asked) {
  Rows rows = rows_of(store, runs, asked);
  const auto sorting = sorting_column(store, runs, rows, asked);
  const auto order = order_of(rows, sorting, asked);
  if (sorting && !asked.sort.empty()) rows.columns[*sorting].column.rank = 0;  // it always stays
  const auto source = source_of("--columns", asked.columns);
  std::vector<size_t> places;
  for (const Extent part : parts_of_list(asked.columns))
    places.push_back(column_named(store, runs, rows, source, part));
  const bool for_people = !asked.format.is_for_programs();
  if (for_people && asked.top && order.size() > 1 && rows.are_runs && places.empty() &&
      !asked.all_parameters)
    drop_equal_parameters(rows.columns, order);
  const auto metric = first_metric(rows.columns);
  const std::string curves =
      metric && wants_curves(asked, rows, order.size()) ? rows.columns[*metric].series : "";
  ResultTable table =
      table_of(places.empty() ? std::move(rows.columns) : chosen(rows.columns, places), order);
  if (!curves.empty()) add_curves(table, store, runs, order, curves, asked.curves);
  return table;
}

std::string written_at() {
  const std::time_t now = static_cast<std::time_t>(now_ms() / 1000);
  std::tm local{};
  char text[64] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", localtime_r(&now, &local));
  return text;
}

// Rows of the page are runs, all of them: the browser sorts and filters.
Page page_of(const Store& store, const Globals& globals, const std::vector<ReportedRun>& runs,
             const Asked& asked) {
  const Criterion criterion = recorded_criterion(store, runs, asked.sweep);
  Rows rows{columns_of_runs(runs, parameters_of(store, runs, asked.all_parameters),
                            metrics_of(store, runs, asked, criterion)),
            true, criterion};
  const auto order = order_of(rows, sorting_column(store, runs, rows, asked), asked);
  Page page{"exprun report",
            globals.store.shown.string(),
            globals.command_line,
            written_at(),
            {},
            store.parameter_paths(),
            {},
            {},
            {}};
  add_runs(page, store, globals.store, runs, order);
  for (const ComparedColumn& column : rows.columns) {
    ComparedColumn ordered{column.column, {}, column.goal, column.averaged, column.series};
    for (const size_t place : order) ordered.cells.push_back(column.cells[place]);
    page.columns.push_back(std::move(ordered));
  }
  return page;
}

// Those of ls, and what the store's runs have.
ResultTable columns_explained(const Store& store) {
  ResultTable table = ls_columns_explained();
  const auto add = [&](const Words& names, const char* kind) {
    for (const std::string& name : names)
      table.rows.push_back({Cell::word(name), Cell::word(name), Cell::word(kind)});
  };
  add(store.series_names(), "a series");
  add(store.parameter_paths(), "a parameter");
  return table;
}

void require_options_of_a_page(const Asked& asked) {
  if (!asked.group_by.empty() || asked.over_seeds || asked.each_run || !asked.columns.empty())
    refuse(
        "--html shows each run with all its columns; leave out --columns, --group-by, "
        "--over-seeds and --each-run");
  if (!asked.format.is_plain() || asked.curves)
    refuse(
        "--html writes a page in place of a table; leave out --csv, --json, --markdown, --latex "
        "and --sparkline");
}

void require_matching_options(const Asked& asked) {
  asked.format.check();
  if (!asked.html.empty()) return require_options_of_a_page(asked);
  if (asked.follow) refuse("--follow needs --html FILE");
  if (asked.curves && (asked.format.is_for_programs() || asked.format.latex))
    refuse("--sparkline is for a terminal or Markdown; leave out --csv, --json and --latex");
  if (asked.each_run && (!asked.group_by.empty() || asked.over_seeds))
    refuse("--each-run has a row for each run; leave out --group-by and --over-seeds");
}

bool any_trains(const std::vector<ReportedRun>& runs) {
  return std::any_of(runs.begin(), runs.end(),
                     [](const ReportedRun& run) { return run.run.state == RunState::running; });
}

// Between two of its trials, and before the first, a sweep has no run that trains.
bool sweep_goes_on(const Store& store, const StoreFolder& folder,
                   const std::vector<ReportedRun>& runs, const Asked& asked) {
  const auto is_shown = [&](const SweepRow& sweep) {
    return (asked.references.empty() && asked.where.expressions.empty()) ||
           std::any_of(runs.begin(), runs.end(),
                       [&](const ReportedRun& run) { return run.run.sweep_id == sweep.id; });
  };
  const auto sweeps =
      asked.sweep.empty() ? store.sweeps() : std::vector{store.find_sweep(asked.sweep)};
  return std::any_of(sweeps.begin(), sweeps.end(), [&](const SweepRow& sweep) {
    return is_shown(sweep) && !sweep_processes(folder, sweep.uid).empty();
  });
}

void write_html(const Store& store, const Globals& globals, const Asked& asked) {
  std::vector<ReportedRun> runs;
  const auto page = [&] {
    runs = wanted_runs(store, globals.store, asked);
    return page_of(store, globals, runs, asked);
  };
  write_page(asked.html, asked.follow, page,
             [&] { return any_trains(runs) || sweep_goes_on(store, globals.store, runs, asked); });
  log(LogLevel::info, "wrote " + asked.html + ": " + pluralize(runs.size(), "run"));
}

void warn_of_different_data(const std::vector<ReportedRun>& runs) {
  std::vector<RunRow> with_losses;
  for (const ReportedRun& reported : runs)
    if (reported.val_loss || reported.train_loss) with_losses.push_back(reported.run);
  if (const std::string warning = different_data(with_losses); !warning.empty())
    log_warning(warning);
}

}  // namespace

int run_report(const Words& words, const Globals& globals) {
  Asked asked;
  Arguments arguments(
      "report [NAME...]",
      "Compares runs, the best first. Shows only the settings that differ between the runs.");
  declare(asked, arguments);
  if (!arguments.parse(words)) return 0;
  require_matching_options(asked);
  const Store store = open_store(globals.store);
  if (asked.columns == "help") {
    asked.format.print(columns_explained(store), "");
    return 0;
  }
  if (!asked.html.empty()) {
    write_html(store, globals, asked);
    return 0;
  }
  const auto runs = wanted_runs(store, globals.store, asked);
  const bool all = asked.where.expressions.empty() && asked.sweep.empty();
  asked.format.print(table_of(store, runs, asked), all ? "no runs yet" : "no run matches");
  if (!asked.format.is_for_programs()) warn_of_different_data(runs);
  return 0;
}

}  // namespace exprun
