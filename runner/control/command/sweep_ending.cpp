// What `exprun sweep` says at its end.
#include <unistd.h>

#include <algorithm>

#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/terminal/terminal.h"
#include "control/command/sweep.h"
#include "control/report/runs_table.h"
#include "control/report/table.h"
#include "control/sweep/analysis.h"
#include "control/sweep/outcomes.h"

namespace exprun {
namespace {

constexpr size_t kShownBest = 10;

std::string number_of_trials(size_t count) {
  return std::to_string(count) + (count == 1 ? " trial" : " trials");
}

std::string tally(const SweepEnd& end, size_t trials) {
  std::string text = std::to_string(end.finished) + " of " + number_of_trials(trials) + " finished";
  if (end.failed) text += ", " + std::to_string(end.failed) + " failed";
  if (end.pruned) text += ", " + std::to_string(end.pruned) + " stopped early";
  if (end.interrupted) text += ", " + std::to_string(end.interrupted) + " interrupted";
  if (end.elsewhere) text += ", " + std::to_string(end.elsewhere) + " running elsewhere";
  if (end.stopped || end.failed > end.for_good) text += "; the same command continues it";
  if (end.for_good) text += "; --retry-failed starts the failed trials again";
  return text;
}

// The keys that differ between trials, as they were written.
std::vector<std::string> axes_of(const SweepPlan& plan) {
  std::vector<std::string> axes;
  for (const Trial& trial : plan.trials)
    for (const auto& [axis, value] : axis_values(label(trial)))
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
  return axes;
}

std::vector<Cell> axis_cells(const Trial& trial, const std::vector<std::string>& axes) {
  std::vector<Cell> cells(axes.size());
  for (const auto& [axis, value] : axis_values(label(trial)))
    cells[static_cast<size_t>(std::find(axes.begin(), axes.end(), axis) - axes.begin())] =
        value_cell(value);
  return cells;
}

// Those of a column: numbers stand right.
void align_axes(ResultTable& table, size_t axes) {
  for (size_t i = 0; i < axes; ++i) {
    std::vector<Cell> column;
    for (const auto& row : table.rows) column.push_back(row[i]);
    table.columns[i].right = all_numbers(column);
  }
}

// The trials that finished, with a column for each axis.
ResultTable finished_trials(const Store& store, const StoreFolder& folder, const SweepPlan& plan) {
  const std::vector<std::string> axes = axes_of(plan);
  ResultTable table;
  for (const std::string& axis : axes) table.columns.push_back({axis, short_title(axis, axes)});
  for (const Column& column :
       {Column{"best", plan.metric, true}, Column{"step", "at step", true, 2},
        Column{"seconds", "time", true, 3}, Column{"run", "run", false, 1}})
    table.columns.push_back(column);
  for (const Trial& trial : plan.trials) {
    const WhichRun which = standing(store, folder, trial);
    if (!which.run || which.run->state != RunState::finished) continue;
    const auto score = best_score(store, plan, which.run->id);
    if (!score) continue;
    std::vector<Cell> row = axis_cells(trial, axes);
    for (Cell cell : {Cell::number(score->value), Cell::integer(score->step),
                      Cell::number(which.run->seconds, duration(which.run->seconds)),
                      Cell::word(which.run->folder)})
      row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  align_axes(table, axes.size());
  return table;
}

void show_best(ResultTable table, const SweepPlan& plan) {
  constexpr size_t kWorthATable = 3;
  const size_t finished = table.rows.size();
  if (finished < kWorthATable) return;
  sort_rows(table, "best", plan.maximize);
  table.rows.resize(std::min(finished, kShownBest));
  std::string text = finished > kShownBest ? "the " + std::to_string(kShownBest) + " best trials:\n"
                                           : "the trials that finished, best first:\n";
  text += to_plain(std::move(table), {columns_of(STDERR_FILENO), wants_color(STDERR_FILENO)});
  log_info(text.substr(0, text.size() - 1));
}

// "exprun tiny.toml lr=1e-2 steps=80": the best point for twice the steps. Empty where the length
// of the runs is not a number of steps.
std::string longer_command(const std::string& recipe, const Trial& trial) {
  const Value* const steps = trial.resolved.find("run.steps");
  const auto* const number = steps ? steps->as<int64_t>() : nullptr;
  if (recipe.empty() || !number) return "";
  std::string text = "exprun " + shell_quoted(recipe);
  for (const std::string& change : trial.text.overrides)
    if (!change.starts_with("steps=") && !change.starts_with("run.steps="))
      text += ' ' + shell_quoted(change);
  return text + " steps=" + std::to_string(2 * *number);
}

std::string next_commands(const StoreFolder& folder, const std::string& recipe, const Trial& best,
                          int64_t sweep) {
  const std::string where = store_option(folder), number = std::to_string(sweep);
  std::string next = "next:";
  if (const std::string longer = longer_command(recipe, best); !longer.empty())
    next += "\n  " + longer + where + "   trains the best trial longer";
  return next + "\n  exprun sweep show " + number + where +
         "   shows every trial, and how much each axis matters\n  exprun report --sweep " + number +
         where + "   compares the runs";
}

}  // namespace

void say_how_it_ended(const Store& store, const StoreFolder& folder, const SweepPlan& plan,
                      const SweepEnd& end, const std::string& recipe) {
  log_info(tally(end, plan.trials.size()));
  show_best(finished_trials(store, folder, plan), plan);
  const auto best = best_trial(store, folder, plan);
  if (!best) return;
  log_info(best_text(plan, *best));
  log_info(next_commands(folder, recipe, *best->trial, end.sweep));
}

}  // namespace exprun
