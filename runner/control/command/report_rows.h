// The rows and columns of `report`: what is asked for, and what the store has of it. Which columns
// there are: control/report/compare/report_columns.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "control/command/command.h"
#include "control/command/line/table_format.h"
#include "control/command/stored/run_values.h"
#include "control/report/compare/report_columns.h"
#include "control/report/expression.h"
#include "store/store.h"

namespace exprun {

struct AskedReport {
  Words references;
  Where where;
  std::string sweep, sort, columns, html;
  Words metrics, group_by;
  bool reverse = false, all_parameters = false, over_seeds = false, each_run = false;
  bool curves = false, follow = false;
  std::optional<int64_t> top;
  TableFormat format;
};

// Of options that do not go together.
[[noreturn]] void refuse_report(const std::string& why);

// Rows: runs, or groups of runs.
struct Rows {
  std::vector<ComparedColumn> columns;
  bool are_runs = true;
  Criterion criterion = {};
  std::vector<std::vector<size_t>> groups = {};  // places of their runs
  size_t repeats = 0;                            // runs that are in none: another has their recipe
};

// With the usual columns, or those that are asked for in their stead.
Rows rows_of(const Store& store, const std::vector<ReportedRun>& runs, const AskedReport& asked);

// The same, where each run is a row whatever is asked for.
Rows rows_of_runs(const Store& store, const std::vector<ReportedRun>& runs,
                  const AskedReport& asked);

// The column of this name; of runs, a value that is none yet becomes one.
size_t column_named(const Store& store, const std::vector<ReportedRun>& runs, Rows& rows,
                    const std::shared_ptr<const SourceFile>& source, Extent part);

// The first metric that has a value.
std::optional<size_t> first_metric(const std::vector<ComparedColumn>& columns);

// The column of --sort, else the first metric.
std::optional<size_t> sorting_column(const Store& store, const std::vector<ReportedRun>& runs,
                                     Rows& rows, const AskedReport& asked);

// All rows; as they are where no column sorts.
std::vector<size_t> order_of(const Rows& rows, std::optional<size_t> by, const AskedReport& asked);

// Those that --top leaves.
void keep_top(std::vector<size_t>& order, const AskedReport& asked);

// What there is to say about the data of the runs in the rows of this order, if there is something.
std::string warning_of_data(const std::vector<ReportedRun>& runs, const Rows& rows,
                            const std::vector<size_t>& order);

}  // namespace exprun
