// Groups of runs, as `report` shows them: with mean and standard deviation.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "control/report/compare/report_columns.h"

namespace exprun {

// Runs with the same values of all these parameters, by their places in the list of runs; groups
// and runs in the order of the runs.
std::vector<std::vector<size_t>> groups_of(const std::vector<ComparedColumn>& by, size_t runs);

// Of a sample: the standard deviation divides by n - 1, and is NaN of one value.
struct Spread {
  double mean = 0, deviation = 0;
  size_t count = 0;
};
Spread spread_of(std::vector<double> values);

// "1.915 ± 0.012", "(1.24 ± 0.31)e8"; two significant digits of the deviation, or those before the
// point where it has more, and as many decimals of the mean.
std::string mean_text(const Spread& spread);
// "1.915 ± 0.012 (3)"; empty for no values.
std::string to_string(const Spread& spread);

// The parameters of each group, how many runs it has, its metrics and how its runs stand. Runs
// without a value of a metric do not count for it. For programs a metric is three columns: KEY (the
// mean), KEY_std and KEY_n.
std::vector<ComparedColumn> columns_of_groups(const std::vector<ReportedRun>& runs,
                                              const std::vector<std::vector<size_t>>& groups,
                                              const std::vector<ComparedColumn>& by,
                                              const std::vector<ComparedColumn>& metrics,
                                              bool for_programs);

}  // namespace exprun
