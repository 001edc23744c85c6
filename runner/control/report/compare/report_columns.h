// The columns of `report`: metrics, parameters, and how runs stand. A column that every run has is
// added in columns_of_runs(), and in run_groups.h for groups; a usual metric in usual_metrics().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/report/compare/criterion.h"
#include "control/report/compare/spread.h"
#include "control/report/runs_table.h"
#include "control/report/table.h"
#include "store/store.h"

namespace exprun {

// Column::priority of what a table compares by: on a narrow terminal the lowest stay, of equal ones
// the first in the table.
enum ColumnPriority : size_t {
  kPriorityBest = 0,  // the metric that orders: it always stays
  kPriorityState,
  kPriorityAsked,      // named on the command line
  kPriorityParameter,  // the first of the tables that experiments are usually about
  kPriorityLastValue,  // of the metric that orders
  kPriorityFurtherParameter,
  kPriorityStep,
  kPriorityMetric,
  kPriorityLater,
  kPriorityDetail,  // of a trial: its run or its message, which are long
  kPriorityTime,
  kPriorityOtherParameter,
  kPriorityFork,
  kPriorityCurve
};
bool is_parameter(const Column& column);

constexpr size_t kWidestCell = 48;  // columns of a terminal, for texts that may be of any length

struct ComparedColumn {
  Column column;
  std::vector<Cell> cells;         // one for each run or group
  Goal goal = Goal::none;          // of a metric: which of its values is best
  bool averaged = true;            // groups have it
  std::string series = {};         // of a metric: whose values they are
  std::vector<Spread> ranks = {};  // of a sweep's points, which are ranked() by them
  bool if_different = false;       // it stays only where the rows that are shown differ in it
  std::vector<bool> changed = {};  // of a parameter: which runs have changed it; empty: all

  bool is_metric() const { return !series.empty(); }
  bool has_values() const;  // of any run
  // The places of the cells, the lowest or the highest first.
  std::vector<size_t> order(bool highest_first) const;
};

// What every table calls the value of a criterion and its step: "val_loss_best" with the title
// "best val/loss", and "val_loss_best_step".
Column value_column(const Criterion& criterion);
Column step_column(const Criterion& criterion);

// The value of the criterion with its step, the last one, and the last of val/loss and train/loss.
// `values` has the series of the criterion of each run.
std::vector<ComparedColumn> usual_metrics(const std::vector<ReportedRun>& runs,
                                          const Criterion& criterion,
                                          const std::vector<std::optional<SeriesRow>>& values);

// A column a path; `cells` has those of each path. Titles are short_title() among `settings`, all
// that the store knows: "lr" is nobody's but optimizer.lr, shown or not. Unless `all`, those that
// are the same in all runs are left out, and the type of an evaluation that has the name of its
// type, where another of its keys tells the same runs apart.
std::vector<ComparedColumn> parameter_columns(const std::vector<std::string>& paths,
                                              std::vector<std::vector<Cell>> cells,
                                              const std::vector<std::string>& settings, bool all);

// Which checkpoint each run was forked from, where they differ in that: two runs with the same
// recipe are two experiments then. Without a value for a run that is no fork.
std::optional<ComparedColumn> fork_column(const std::vector<ReportedRun>& runs);

// Parameters of the tables that experiments are usually about before others, then those that
// divide the runs most: one that a single run changed tells little. Values that are no run's own,
// as a `decay_until` that follows from its length, count as one.
std::vector<ComparedColumn> by_entropy(std::vector<ComparedColumn> parameters);

// Asks the store which of the runs have changed the parameters of these columns.
void set_changed(std::vector<ComparedColumn>& columns, const std::vector<ReportedRun>& runs,
                 const Store& store);

// Leaves out what is shown for its differences only and is the same in these rows, and orders the
// parameters that stay as if there were no others. Of one row, what sets it apart from
// the others stays.
void keep_different(std::vector<ComparedColumn>& columns, const std::vector<size_t>& rows);

// The run, its metrics, its parameters, and how it stands.
std::vector<ComparedColumn> columns_of_runs(const std::vector<ReportedRun>& runs,
                                            std::vector<ComparedColumn> parameters,
                                            std::vector<ComparedColumn> metrics);

// Cuts what a parameter lists at length, and names a checkpoint by its run and step, so that a line
// of the table stays readable.
void shorten_parameters(std::vector<ComparedColumn>& columns);

// The rows in this order; the best of each metric is marked where there is another one.
ResultTable table_of(std::vector<ComparedColumn> columns, const std::vector<size_t>& order);

}  // namespace exprun
