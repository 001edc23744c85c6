// What `exprun sweep` says at its end.
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/terminal/terminal.h"
#include "control/command/line/table_format.h"
#include "control/command/stored/recorded_criterion.h"
#include "control/command/sweep.h"
#include "control/report/compare/report_columns.h"
#include "control/report/table.h"
#include "control/sweep/analysis.h"
#include "control/sweep/stored_sweeps.h"
#include "recipe/quantities.h"
#include "recipe/sweep/sweep_space.h"

namespace exprun {
namespace {

constexpr size_t kShownBest = 10;

std::string tally(const SweepEnd& end, size_t trials) {
  std::string text = counts_text(trials, end.finished, end.failed - end.cut_off, end.pruned,
                                 end.interrupted + end.cut_off);
  if (end.elsewhere) text += ", " + std::to_string(end.elsewhere) + " running elsewhere";
  const bool goes_on = end.stopped || end.cut_off;
  if (goes_on) text += "; the same command continues it";
  if (end.for_good)
    text += "; --retry-failed starts the failed trials again";
  else if (end.failed && !goes_on)
    text += "; the same command starts the failed trials again";
  return text;
}

// The trials that finished, the best first.
ResultTable finished_trials(const StoredSweep& sweep) {
  const AxisColumns axes(sweep.points());
  const Criterion criterion = criterion_of(sweep.plan);
  const Column value = value_column(criterion);
  ResultTable table{axes.columns(), {}};
  for (const Column& column :
       {value, step_column(criterion), Column{"seconds", "time", true, kPriorityTime},
        Column{"run", "run", false, kPriorityState}})
    table.columns.push_back(column);
  for (const StoredTrial& trial : sweep.trials) {
    if (trial.state != "finished" || !trial.score) continue;
    std::vector<Cell> row = axes.cells(axis_values(trial.row.changes));
    for (Cell cell : {Cell::number(trial.score->value), Cell::integer(trial.score->step),
                      Cell::number(trial.run->seconds, duration(trial.run->seconds)),
                      Cell::word(trial.run->folder)})
      row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  sort_rows(table, value.key, sweep.plan.maximize);
  return table;
}

// With one for seeds the points are what is compared.
void show_best(const StoredSweep& sweep, const std::string& shown_by) {
  constexpr size_t kWorthATable = 2;
  const bool by_means = sweep.means().size() > 1;
  ResultTable table = by_means ? means_table(sweep) : finished_trials(sweep);
  const size_t all = table.rows.size();
  if (all < kWorthATable) return;
  table.rows.resize(std::min(all, kShownBest));
  const std::string what = by_means ? "points" : "trials";
  std::string text = all > kShownBest ? "the " + std::to_string(kShownBest) + " best " + what
                     : by_means       ? "the points, best first"
                                      : "the trials that finished, best first";
  text += by_means ? " (mean ± standard deviation over seeds):\n" : ":\n";
  std::vector<std::string> left_out;
  text += to_plain(std::move(table), {columns_of(STDERR_FILENO), wants_color(STDERR_FILENO)},
                   &left_out);
  log_info(text.substr(0, text.size() - 1));
  if (!left_out.empty()) log_info(left_out_text(left_out, shown_by + " has them"));
}

void say_why_none_is_best(const StoredSweep& sweep) {
  if (sweep.finished_runs().empty()) return;
  const std::string& metric = sweep.plan.metric;
  log_info("no trial that finished has a value of " + metric + " to be ranked by" +
           (metric == "train/loss" ? ""
                                   : "; the same command with metric=train/loss ranks them by "
                                     "that, without training them again"));
}

// "steps=80" or "length='2 epochs'"
std::string twice_as_long(const Trial& trial) {
  Period length = run_length(trial.resolved.root()).value();
  length.count *= 2;
  if (trial.resolved.find("run.length")) return "run.length=" + shell_quoted(to_string(length));
  return "steps=" + std::to_string(std::llround(length.count));
}

bool is_length(const std::string& change) {
  return may_be_same_key(key_of(change), "run.steps") ||
         may_be_same_key(key_of(change), "run.length");
}

// "exprun tiny.toml lr=1e-2 steps=80": the best point for twice as long, of several seeds with the
// recipe's. Without a file the recipe is that of the best run.
std::string longer_command(const std::string& recipe, const Trial& trial, const BestPoint& best) {
  if (recipe.empty()) return "exprun rerun " + best.trial->run->folder + ' ' + twice_as_long(trial);
  std::string text = "exprun " + shell_quoted(recipe);
  const auto is_left_out = [&](const std::string& change) {
    return is_length(change) ||
           (best.mean && is_replicate(change) &&
            std::find(trial.changes.begin(), trial.changes.end(), change) != trial.changes.end());
  };
  // What was found out replaces what was typed.
  const auto& all = trial.text.overrides;
  const auto found_out = all.begin() + static_cast<std::ptrdiff_t>(trial.text.first_found_out());
  const auto is_replaced = [&](const std::string& change) {
    return std::any_of(found_out, all.end(), [&](const std::string& found) {
      return &found != &change && may_be_same_key(key_of(change), key_of(found));
    });
  };
  for (const std::string& change : all)
    if (!is_left_out(change) && !is_replaced(change)) text += ' ' + shell_quoted(change);
  return text + ' ' + twice_as_long(trial);
}

struct SweepCommands {
  std::string show, report;
};

SweepCommands commands_of(const StoreFolder& folder, int64_t sweep) {
  const std::string words = std::to_string(sweep) + store_option(folder);
  return {"exprun sweep show " + words, "exprun report --sweep " + words};
}

std::string next_commands(const SweepCommands& commands, const std::string& longer,
                          const BestPoint& best) {
  return "next:\n  " + longer + "   trains " + (best.changes.empty() ? "" : "the best point ") +
         "again, for twice as long\n  " + commands.show + "   shows every trial\n  " +
         commands.report + "   compares the runs";
}

}  // namespace

void say_how_it_ended(const Store& store, const StoreFolder& folder, const SweepPlan& plan,
                      const SweepEnd& end, const std::string& recipe) {
  log_info(tally(end, plan.trials.size()));
  const StoredSweep sweep = stored_sweep(store, folder, store.sweep(end.sweep).value());
  const SweepCommands commands = commands_of(folder, end.sweep);
  show_best(sweep, commands.report + " --csv");
  const auto best = sweep.best_point();
  if (!best) {
    say_why_none_is_best(sweep);
    return;
  }
  if (const std::string warning = data_warning(sweep); !warning.empty()) log_warning(warning);
  log_info(best_text(sweep, *best));
  const Trial& trial = plan.trials[static_cast<size_t>(best->trial->row.trial) - 1];
  log_info(
      next_commands(commands, longer_command(recipe, trial, *best) + store_option(folder), *best));
}

}  // namespace exprun
