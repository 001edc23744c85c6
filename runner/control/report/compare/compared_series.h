// One series of several runs: its values at their best, at their end and at equal steps, and the
// step from which they differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/report/compare/report_columns.h"
#include "store/store.h"

namespace exprun {

// All lists have one item for each run.
struct ComparedSeries {
  std::string name;
  std::vector<std::optional<SeriesRow>> summaries;  // nothing where a run has no value
  std::vector<std::vector<MetricRow>> values;       // by step
  Goal goal = Goal::none;

  bool has_values() const;  // of any run
};

ComparedSeries read_series(const Store& store, const std::vector<RunRow>& runs,
                           const std::string& name, Goal goal);

// "best val/loss": "1.265 at step 200"; nothing for a series of which no value is best.
std::optional<ComparedColumn> best_of(const ComparedSeries& series);
ComparedColumn last_of(const ComparedSeries& series);

// At the last step at which all runs that have the series have a value; nothing for one run alone.
std::optional<ComparedColumn> at_common_step(const ComparedSeries& series);

// Of an even number of values the higher of the two in the middle; NaN counts for nothing, and of
// no value there is none.
std::optional<double> median_of(std::vector<MetricRow> values);

// Where a run parts from another.
struct Parting {
  struct Pair {
    int64_t step = 0;
    double first = 0, other = 0;
  };
  int64_t common_steps = 0;
  std::optional<Pair> differ;  // the first values that are not the same bits
  std::optional<Pair> clear;   // the first that differ by more than 1 % of the larger one
};
Parting parting_of(const std::vector<MetricRow>& first, const std::vector<MetricRow>& other);

// A row for each series and each run but the first, which the others are compared with.
ResultTable partings_of(const std::vector<RunRow>& runs,
                        const std::vector<ComparedSeries>& all_series);

}  // namespace exprun
