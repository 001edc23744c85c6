// exprun report. Which rows and columns it has is decided in report_rows.cpp; the columns that
// every report has are in report/compare/report_columns.cpp; those that --columns, --sort and
// --where may name besides, and that `ls` has too, in report/runs_table.cpp.
#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/terminal/terminal.h"
#include "control/command/report_page.h"
#include "control/command/report_rows.h"
#include "control/command/stored/run_reference.h"
#include "control/command/stored/stored_runs.h"
#include "control/report/compare/report_columns.h"
#include "control/report/standard_output.h"
#include "control/sweep/sweep_processes.h"

namespace exprun {
namespace {

constexpr size_t kMostCurves = 200;  // rows for which curves are read without being asked for
constexpr int64_t kCurveWidth = 12;
constexpr size_t kPlaceOfRun = 0;  // columns_of_runs() begins with it

void declare(AskedReport& asked, Arguments& arguments) {
  arguments.words("NAME...", asked.references, std::string("only these runs: ") + kRunsHelp,
                  offer::runs);
  asked.where.declare(arguments);
  arguments
      .option("--sweep", "SWEEP", asked.sweep,
              std::string("only the runs of this sweep: ") + kSweepHelp +
                  "; runs that differ only in run.seed share a row",
              offer::sweeps)
      .list("--metric", "A[:WHICH],B", asked.metrics,
            "show these series, or default metrics by their headings, such as 'best val/loss', "
            "instead of the default ones; WHICH is last (default), min, max or at(STEP) "
            "(default: the metric of the sweep or of the recipes, followed by "
            "val/loss and train/loss)")
      .option(
          "--columns", "A,B", asked.columns,
          "show only the run, these columns, settings and series, and those of --metric if it is "
          "given; '--columns help' lists the columns")
      .flag("--all-parameters", asked.all_parameters,
            "also show settings that are the same in all runs")
      .option("--sort", "COLUMN", asked.sort,
              "sort by a column, setting or series: a metric best first, others lowest first "
              "(default: the first metric)")
      .flag("--reverse", asked.reverse, "sort the other way around")
      .number("--top", asked.top, "show the first N rows only", 1)
      .option(
          "--group-by", "A,B", asked.group_by,
          "one row for each combination of values of these settings or columns of ls, with "
          "mean ± standard deviation (number of runs) of the metrics: over the runs that "
          "finished, or over all if none did; of runs with the same recipe and seed, the newest "
          "finished one counts")
      .flag("--over-seeds", asked.over_seeds,
            "combine runs that differ only in run.seed into one row, counting only the newest "
            "finished run of each seed; implied by --sweep")
      .flag("--each-run", asked.each_run, "a row for each run of a sweep over seeds")
      .flag("--sparkline", asked.curves,
            "add the curve of the first metric (default on a terminal with room for it)");
  asked.format.declare(arguments);
  arguments
      .option("--html", "FILE", asked.html,
              "write a page for a browser instead, with curves, settings and samples; it is one "
              "file and needs no network")
      .flag("--follow", asked.follow,
            "with --html: rewrite the page every 2 s (less often if large) while runs train or a "
            "sweep continues, until Ctrl-C")
      .exit_codes(kFindsRuns)
      .example("exprun report", "every run in the store")
      .example("exprun report --where 'lr < 3e-3 and state = \"finished\"' --top 5",
               "the five best matches")
      .example("exprun report --metric val/loss:min --metric 'train/loss:at(2)'", "other metrics")
      .example("exprun report --over-seeds --latex",
               "mean and standard deviation over seeds, for a paper")
      .example("exprun report --html report.html", "a page to open or to send to a colleague")
      .example("exprun report quickstart --csv > runs.csv",
               "the runs named quickstart, for a spreadsheet");
}

std::vector<ReportedRun> wanted_runs(const Store& store, const StoreFolder& folder,
                                     const AskedReport& asked) {
  auto runs = all_runs(store, folder, referred_runs(store, folder, asked.references, asked.sweep));
  asked.where.keep_matching(store, runs);
  return runs;
}

std::vector<ComparedColumn> chosen(const std::vector<ComparedColumn>& columns,
                                   const std::vector<size_t>& places) {
  std::vector<ComparedColumn> some;
  for (const size_t place : places) some.push_back(columns[place]);
  return some;
}

// The series of this name, as a line of bars.
void add_curves(ResultTable& table, const Store& store, const std::vector<ReportedRun>& runs,
                const std::vector<size_t>& order, const std::string& name, bool asked) {
  const auto series = store.series_by_run(name);
  table.columns.push_back(
      {"curve", name + " curve", false, asked ? kPriorityAsked : kPriorityCurve, true});
  for (size_t row = 0; row < order.size(); ++row) {
    std::vector<double> values;
    const auto found = series.find(runs[order[row]].run.id);
    if (found != series.end())
      for (const MetricRow& point : store.thinned_metrics(found->second.id, kCurveWidth))
        values.push_back(point.value);
    table.rows[row].push_back(values.empty() ? Cell::none() : Cell::word(sparkline(values)));
  }
}

bool wants_curves(const AskedReport& asked, const Rows& rows, size_t count) {
  if (asked.curves) return true;
  return rows.are_runs && asked.format.is_plain() && asked.columns.empty() &&
         terminal_width() > 0 && count <= kMostCurves;
}

struct ReportedTable {
  ResultTable table;
  std::string warning;
  size_t repeats = 0;  // runs that were left out
};

std::vector<size_t> metrics_of(const Rows& rows) {
  std::vector<size_t> places;
  for (size_t place = 0; place < rows.columns.size(); ++place)
    if (rows.columns[place].is_metric()) places.push_back(place);
  return places;
}

ReportedTable report_of(const Store& store, const std::vector<ReportedRun>& runs,
                        const AskedReport& asked) {
  Rows rows = rows_of(store, runs, asked);
  const auto metrics = asked.metrics.empty() ? std::vector<size_t>() : metrics_of(rows);
  const auto sorting = sorting_column(store, runs, rows, asked);
  auto order = order_of(rows, sorting, asked);
  const auto source = source_of("--columns", asked.columns);
  std::vector<size_t> places;
  for (const Extent part : parts_of_list(asked.columns))
    places.push_back(column_named(store, runs, rows, source, part));
  const auto key_at = [&](size_t place) { return rows.columns[place].column.key; };
  if (rows.are_runs && !places.empty() && std::ranges::none_of(places, names_a_run, key_at))
    places.insert(places.begin(), kPlaceOfRun);
  if (!places.empty())
    for (const size_t metric : metrics)
      if (!std::ranges::count(places, metric)) places.push_back(metric);
  if (!asked.sort.empty()) rows.columns[*sorting].column.priority = 0;  // it always stays
  // A person compares the rows that are shown; a program finds the same columns whatever --top is.
  const bool for_programs = asked.format.is_for_programs();
  if (places.empty() && for_programs) keep_different(rows.columns, order);
  keep_top(order, asked);
  if (places.empty() && !for_programs) keep_different(rows.columns, order);
  if (places.empty() && asked.format.is_plain()) shorten_parameters(rows.columns);
  std::string warning = warning_of_data(runs, rows, order);
  const auto metric = first_metric(rows.columns);
  const std::string curves =
      metric && wants_curves(asked, rows, order.size()) ? rows.columns[*metric].series : "";
  ResultTable table =
      table_of(places.empty() ? std::move(rows.columns) : chosen(rows.columns, places), order);
  if (!curves.empty()) add_curves(table, store, runs, order, curves, asked.curves);
  return {std::move(table), std::move(warning), rows.repeats};
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
             const AskedReport& asked) {
  Rows rows = rows_of_runs(store, runs, asked);
  auto order = order_of(rows, sorting_column(store, runs, rows, asked), asked);
  keep_top(order, asked);
  keep_different(rows.columns, order);
  Page page{"exprun report",
            globals.store.shown.string(),
            globals.command_line,
            written_at(),
            {},
            store.parameter_paths(),
            {},
            warning_of_data(runs, rows, order)};
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
  add(store.parameter_paths(), "a setting");
  return table;
}

void require_options_of_a_page(const AskedReport& asked) {
  if (!asked.group_by.empty() || asked.over_seeds || asked.each_run || !asked.columns.empty())
    refuse_report(
        "--html shows each run with all its columns; leave out --columns, --group-by, "
        "--over-seeds and --each-run");
  if (!asked.format.is_plain() || asked.curves)
    refuse_report(
        "--html writes a page in place of a table; leave out --csv, --json, --markdown, --latex "
        "and --sparkline");
}

void require_matching_options(const AskedReport& asked) {
  asked.format.check();
  if (!asked.html.empty()) return require_options_of_a_page(asked);
  if (asked.follow) refuse_report("--follow needs --html FILE");
  if (asked.curves && (asked.format.is_for_programs() || asked.format.latex))
    refuse_report("--sparkline is for a terminal or Markdown; leave out --csv, --json and --latex");
  if (asked.each_run && (!asked.group_by.empty() || asked.over_seeds))
    refuse_report("--each-run has a row for each run; leave out --group-by and --over-seeds");
}

bool any_trains(const std::vector<ReportedRun>& runs) {
  return std::any_of(runs.begin(), runs.end(),
                     [](const ReportedRun& run) { return run.run.state == RunState::running; });
}

// Between two of its trials, and before the first, a sweep has no run that trains.
bool sweep_goes_on(const Store& store, const StoreFolder& folder,
                   const std::vector<ReportedRun>& runs, const AskedReport& asked) {
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

void write_html(const Store& store, const Globals& globals, const AskedReport& asked) {
  std::vector<ReportedRun> runs;
  size_t shown = 0;
  std::string warning;
  const auto page = [&] {
    runs = wanted_runs(store, globals.store, asked);
    Page written = page_of(store, globals, runs, asked);
    shown = written.runs.size();
    warning = written.of_data;
    return written;
  };
  write_page(asked.html, asked.follow, page,
             [&] { return any_trains(runs) || sweep_goes_on(store, globals.store, runs, asked); });
  log(LogLevel::info, "wrote " + asked.html + ": " + pluralize(shown, "run"));
  if (!warning.empty()) log_warning(warning);
}

}  // namespace

int run_report(const Words& words, const Globals& globals) {
  AskedReport asked;
  Arguments arguments(
      "report [NAME...]",
      "Compares runs, best first. Shows only the settings that differ between the runs.");
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
  ReportedTable report = report_of(store, runs, asked);
  asked.format.print(std::move(report.table),
                     all ? why_no_runs(store, globals.store) : "no run matches");
  if (report.repeats > 0)
    log_info("left out " + pluralize(static_cast<int64_t>(report.repeats), "run") + " that repeat" +
             (report.repeats == 1 ? "s" : "") +
             " the recipe and seed of another on the same data: the newest finished one counts");
  if (asked.format.is_for_programs()) return 0;
  if (!report.warning.empty()) log_warning(report.warning);
  return 0;
}

}  // namespace exprun
