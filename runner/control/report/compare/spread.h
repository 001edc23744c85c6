// The values of a group of runs or seeds in two numbers: mean and standard deviation.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace exprun {

// Of a sample: the standard deviation divides by n - 1, and is NaN of one value.
struct Spread {
  double mean = 0, deviation = 0;
  size_t count = 0;
};
Spread spread_of(std::vector<double> values);

// The places of a sweep's points, each with its values over seeds, the best mean first. A point
// with fewer seeds than others stands behind them, whatever its mean: the missing ones may be the
// worst.
std::vector<size_t> ranked(const std::vector<Spread>& points, bool highest_first);

// "1.915 ± 0.012", "(1.24 ± 0.31)e8"; two significant digits of the deviation, or those before the
// point where it has more, and as many decimals of the mean.
std::string mean_text(const Spread& spread);
// "1.915 ± 0.012 (3)"; empty for no values.
std::string to_string(const Spread& spread);

}  // namespace exprun
