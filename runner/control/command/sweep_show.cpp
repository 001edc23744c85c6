// exprun sweep show ID
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format_units.h"
#include "base/json_text.h"
#include "base/strings.h"
#include "control/command/stored_runs.h"
#include "control/command/sweep.h"
#include "control/command/table_format.h"
#include "control/report/runs_table.h"
#include "control/report/terminal.h"

namespace exprun {
namespace {

using nlohmann::ordered_json;

Cell state_cell_of(const StoredTrial& trial) {
  return trial.run ? state_cell(trial.run->state)
                   : Cell::word(trial.state, trial.state == "failed" ? Tone::bad : Tone::plain);
}

}  // namespace

ResultTable trials_table(const StoredSweep& sweep) {
  ResultTable table{{{"trial", "trial", true},
                     {"changes", "changes"},
                     {"state", "state"},
                     {"steps", "steps", true, 2},
                     {"best", sweep.plan.metric, true},
                     {"best_step", "at step", true, 2},
                     {"run", "run", false, 1},
                     {"problem", "problem", false, 3}},
                    {}};
  for (const StoredTrial& trial : sweep.trials) {
    const std::string problem = trial.run ? trial.run->message : trial.row.problem;
    table.rows.push_back({Cell::integer(trial.row.trial), Cell::word(trial.row.changes),
                          state_cell_of(trial), trial.run ? steps_cell(*trial.run) : Cell::none(),
                          trial.score ? Cell::number(trial.score->value) : Cell::none(),
                          trial.score ? Cell::integer(trial.score->step) : Cell::none(),
                          trial.run ? Cell::word(trial.run->folder) : Cell::none(),
                          problem.empty() ? Cell::none() : Cell::word(problem)});
  }
  return table;
}

namespace {

std::string percent(double share) {
  return fixed(100 * share, 0) + " %";
}

std::vector<Replicates> best_first(const StoredSweep& sweep) {
  std::vector<Replicates> all = replicates_of(sweep.finished_points());
  std::stable_sort(all.begin(), all.end(), [&](const Replicates& a, const Replicates& b) {
    return sweep.plan.maximize ? a.mean > b.mean : a.mean < b.mean;
  });
  return all;
}

std::string summary_lines(const StoredSweep& sweep) {
  std::string text = "\nsweep " + std::to_string(sweep.row.id) + " of " + sweep.row.name + ": " +
                     sweep.state + ", " + std::to_string(sweep.count("finished")) + " of " +
                     pluralize(static_cast<int64_t>(sweep.trials.size()), "trial") + " finished\n";
  if (const StoredTrial* const best = sweep.best())
    text += "best: " + best->row.changes + ", " + sweep.plan.metric + ' ' +
            four_digits(best->score->value) + " at step " + std::to_string(best->score->step) +
            " (" + best->run->folder + ")\n";
  std::string axes;
  for (const Importance& axis : importance_of_axes(sweep.finished_points()))
    if (axis.explained)
      axes += (axes.empty() ? "" : ", ") + axis.axis + ' ' + percent(*axis.explained);
  if (!axes.empty()) text += "variance explained: " + axes + '\n';
  for (const Replicates& point : best_first(sweep))
    text += "mean over " + pluralize(static_cast<int64_t>(point.count), "seed") + ": " +
            point.changes + ": " + four_digits(point.mean) +
            (point.count > 1 ? " ± " + four_digits(point.deviation) : "") + '\n';
  return text;
}

ordered_json optional_json(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

std::string whole_json(const StoredSweep& sweep) {
  const StoredTrial* const best = sweep.best();
  ordered_json json{{"sweep", sweep.row.id},
                    {"uid", sweep.row.uid},
                    {"name", sweep.row.name},
                    {"state", sweep.state},
                    {"metric", sweep.plan.metric},
                    {"goal", sweep.plan.maximize ? "maximize" : "minimize"},
                    {"summary", to_string(objective_of(sweep.plan).summary)},
                    {"best_trial", best ? ordered_json(best->row.trial) : ordered_json()},
                    {"trials", parse_json<ordered_json>(to_json(trials_table(sweep)))},
                    {"importance", ordered_json::array()},
                    {"seeds", ordered_json::array()}};
  for (const Importance& axis : importance_of_axes(sweep.finished_points()))
    json["importance"].push_back(
        {{"axis", axis.axis}, {"variance_explained", optional_json(axis.explained)}});
  for (const Replicates& point : best_first(sweep))
    json["seeds"].push_back({{"changes", point.changes},
                             {"count", point.count},
                             {"mean", point.mean},
                             {"deviation", point.deviation}});
  return json_text(json, 2, NotUtf8::replaced) + '\n';
}

}  // namespace

int run_sweep_show(const Words& words, const Globals& globals) {
  std::string reference;
  TableFormat format;
  Arguments arguments(
      "sweep show ID",
      "Shows the trials of a sweep, its best point, how much each axis matters, and "
      "means over seeds.");
  arguments.word("ID", reference, "its number, its name or @last",
                 [](const Typed& typed) { return sweep_ids(typed.store); });
  format.declare(arguments);
  arguments
      .note(
          "The variance explained by an axis is the share of the variance of the metric among "
          "finished trials that equal values of the axis account for, adjusted for their number.")
      .exit_codes(kFindsRuns)
      .example("exprun sweep show @last", "the newest sweep")
      .example("exprun sweep show 1 --json", "for a script");
  if (!arguments.parse(words)) return 0;
  format.check();
  const Store store = open_store(globals.store);
  const StoredSweep sweep = stored_sweep(store, globals.store, store.find_sweep(reference));
  if (format.json) {
    print(whole_json(sweep));
    return 0;
  }
  format.print(trials_table(sweep), "the sweep has no trials");
  if (format.is_plain()) print(summary_lines(sweep));
  return 0;
}

}  // namespace exprun
