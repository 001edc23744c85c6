// exprun sweep show ID
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files/run_folder.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/terminal/terminal.h"
#include "control/command/line/table_format.h"
#include "control/command/stored/recorded_criterion.h"
#include "control/command/stored/run_values.h"
#include "control/command/stored/stored_runs.h"
#include "control/command/sweep.h"
#include "control/report/compare/report_columns.h"
#include "control/report/compare/spread.h"
#include "control/report/runs_table.h"
#include "control/report/standard_output.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

Cell state_cell_of(const StoredTrial& trial) {
  return trial.run ? state_cell(*trial.run)
                   : Cell::word(trial.state, trial.state == "failed" ? Tone::bad : Tone::plain);
}

}  // namespace

ResultTable trials_table(const StoredSweep& sweep) {
  const Criterion criterion = criterion_of(sweep.plan);
  ResultTable table{{{"trial", "trial", true},
                     {"changes", "changes"},
                     {"state", "state"},
                     {"step", "step", true, 2},
                     value_column(criterion),
                     step_column(criterion),
                     {"run", "run", false, 1},
                     {"message", "message", false, kPriorityDetail}},
                    {}};
  for (const StoredTrial& trial : sweep.trials) {
    const std::string message = trial.run ? trial.run->message : trial.row.problem;
    table.rows.push_back({Cell::integer(trial.row.trial), Cell::word(trial.row.changes),
                          state_cell_of(trial), trial.run ? steps_cell(*trial.run) : Cell::none(),
                          trial.score ? Cell::number(trial.score->value) : Cell::none(),
                          trial.score ? Cell::integer(trial.score->step) : Cell::none(),
                          trial.run ? Cell::word(trial.run->folder) : Cell::none(),
                          message.empty() ? Cell::none() : Cell::message(message)});
  }
  return table;
}

ResultTable means_table(const StoredSweep& sweep) {
  const std::vector<Replicates> means = sweep.means();
  std::vector<AxisValues> points;
  for (const Replicates& each : means) points.push_back(each.point);
  const AxisColumns axes(points);
  ResultTable table{axes.columns(), {}};
  table.columns.push_back(value_column(criterion_of(sweep.plan)));
  table.columns.back().right = false;  // means stand above means, deviations above deviations
  for (const Replicates& each : means) {
    table.rows.push_back(axes.cells(each.point));
    table.rows.back().push_back(Cell::number(each.spread.mean, to_string(each.spread)));
  }
  return table;
}

namespace {

// With a column for each axis, under its whole path as in other tables, in place of all changes;
// and without one that is empty.
ResultTable with_axes(ResultTable table, const Store& store, const StoredSweep& sweep) {
  const std::vector<AxisValues> points = sweep.points();
  const AxisColumns axes(points);
  if (axes.count() > 0) {
    auto columns = axes.columns();
    for (Column& axis : columns) axis.key = path_of_parameter(store, axis.key).value_or(axis.key);
    const auto at = static_cast<std::ptrdiff_t>(*find_column(table.columns, "changes"));
    table.columns.erase(table.columns.begin() + at);
    table.columns.insert(table.columns.begin() + at, columns.begin(), columns.end());
    for (size_t i = 0; i < points.size(); ++i) {
      std::vector<Cell>& row = table.rows[i];
      const auto cells = axes.cells(points[i]);
      row.erase(row.begin() + at);
      row.insert(row.begin() + at, cells.begin(), cells.end());
    }
  }
  const auto has_message = [](const auto& row) { return !row.back().text.empty(); };
  if (std::none_of(table.rows.begin(), table.rows.end(), has_message)) {
    table.columns.pop_back();
    for (auto& row : table.rows) row.pop_back();
  }
  return table;
}

std::string percent(double share) {
  return fixed(100 * share, 0) + "%";
}

std::string fitted(const std::string& line) {
  const size_t width = terminal_width();
  return width ? wrapped(line, 2, 0, width) : line;
}

// How the runs that are removed come back, while gc has not deleted them.
std::string way_back(const StoredSweep& sweep, const StoreFolder& folder) {
  const auto count = std::count_if(
      sweep.trials.begin(), sweep.trials.end(),
      [](const StoredTrial& trial) { return trial.state == "removed" && trial.row.run; });
  if (count == 0) return "";
  return "`exprun restore --sweep " + std::to_string(sweep.row.id) + store_option(folder.shown) +
         "` brings back " + pluralize(count, "removed run") + '\n';
}

// Nothing of a single axis: whatever the seeds do not explain, it does.
std::string variance_text(const std::vector<ScoredPoint>& points) {
  const std::vector<Importance> importance = importance_of_axes(points);
  if (importance.size() < 2) return "";
  std::string axes;
  for (const Importance& each : importance)
    if (each.explained)
      axes +=
          (axes.empty() ? "" : ", ") + joined(each.axes, " with ") + ' ' + percent(*each.explained);
  if (axes.empty()) return "";
  return fitted("variance explained: " + axes + "; unexplained: " +
                percent(unexplained_variance(points).value()) + " (interactions and noise)") +
         '\n';
}

void print_summary(const StoredSweep& sweep, const StoreFolder& folder) {
  std::string text = "\nsweep " + std::to_string(sweep.row.id) + " of " + sweep.row.name + ": " +
                     sweep.state + ", " + counts_text(sweep) + '\n';
  if (const auto best = sweep.best_point()) text += best_text(sweep, *best) + '\n';
  text += variance_text(sweep.finished_points());
  print(text + way_back(sweep, folder));
  if (const std::string warning = data_warning(sweep); !warning.empty()) log_warning(warning);
  if (sweep.means().size() < 2) return;
  print("\nmean ± standard deviation over seeds, best first:\n");
  print_plain(means_table(sweep), "--json has them");
}

ordered_json optional_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

std::string whole_json(const StoredSweep& sweep) {
  const auto best = sweep.best_point();
  ordered_json json{{"sweep", sweep.row.id},
                    {"uid", sweep.row.uid},
                    {"name", sweep.row.name},
                    {"state", sweep.state},
                    {"metric", sweep.plan.metric},
                    {"goal", sweep.plan.maximize ? "maximize" : "minimize"},
                    {"summary", to_string(objective_of(sweep.plan).summary)},
                    {"best_trial", best ? ordered_json(best->trial->row.trial) : ordered_json()},
                    {"trials", parse_json<ordered_json>(to_json(trials_table(sweep)))},
                    {"importance", ordered_json::array()},
                    {"seeds", ordered_json::array()}};
  const std::vector<ScoredPoint> points = sweep.finished_points();
  for (const Importance& each : importance_of_axes(points))
    json["importance"].push_back(
        {{"axes", each.axes}, {"variance_explained", optional_json(each.explained)}});
  json["variance_unexplained"] = optional_json(unexplained_variance(points));
  for (const Replicates& each : sweep.means())
    json["seeds"].push_back(
        {{"changes", to_string(each.point)},
         {"count", each.spread.count},
         {"mean", each.spread.mean},
         {"deviation",
          each.spread.count > 1 ? ordered_json(each.spread.deviation) : ordered_json()}});
  return json_text(json, 2, NotUtf8::replaced) + '\n';
}

}  // namespace

int run_sweep_show(const Words& words, const Globals& globals) {
  std::string reference = "@last";
  TableFormat format;
  Arguments arguments(
      "sweep show [SWEEP]",
      "Shows the trials of a sweep, its best point, how much each axis matters, and "
      "means over seeds.");
  arguments.optional_word("SWEEP", reference, std::string(kSweepHelp) + " (default: the newest)",
                          offer::sweeps);
  format.declare(arguments, "print a JSON object: the sweep, its trials and what they tell");
  arguments
      .note(
          "The variance explained by an axis is the share of the metric's variance across finished "
          "trials that the other axes alone do not explain but do explain together with this axis, "
          "adjusted for the axis's number of values. The rest is due to interactions between axes, "
          "the seed and noise. Nothing is said where too few trials tell these apart; for a single "
          "axis, only --json gives it. Axes that always change together, as those of a zip, are "
          "one: lr with num_layers. An axis whose values follow from another's counts first, and "
          "the other adds what is left: num_layers before lr in zip(lr=[1,2,3], "
          "num_layers=[1,1,2]). Of several axes, one with many different numbers counts by four "
          "ranges of them.")
      .exit_codes(kFindsRuns)
      .example("exprun sweep show", "the newest sweep")
      .example("exprun sweep show 1 --json", "for a script");
  if (!arguments.parse(words)) return 0;
  format.check();
  const Store store = open_store(globals.store);
  const StoredSweep sweep = stored_sweep(store, globals.store, store.find_sweep(reference));
  if (format.json) {
    print(whole_json(sweep));
    return 0;
  }
  format.print(with_axes(trials_table(sweep), store, sweep), "the sweep has no trials");
  if (format.is_plain()) print_summary(sweep, globals.store);
  return 0;
}

}  // namespace exprun
