#include "control/report/compare/spread.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "base/format_units.h"
#include "control/report/cell.h"

namespace exprun {
namespace {

constexpr double kLargest = 1e6, kSmallest = 1e-3;  // of what is written out with decimals
constexpr int kSignificant = 2;                     // digits of a deviation
constexpr int kMostDigits = 15;                     // that a double has

// Of the value as it is written with so many digits: 0.0996 is 1.0e-1 with two.
int exponent_of(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", digits - 1, value);
  return std::atoi(std::strchr(text, 'e') + 1);
}

// Without the sign of a number that is rounded to 0.
std::string fixed_unsigned_zero(double value, int decimals) {
  const std::string text = fixed(value, decimals);
  return text.starts_with('-') && text.find_first_not_of("-0.") == text.npos ? text.substr(1)
                                                                             : text;
}

// "1.915 ± 0.012"; nothing where the deviation is too small to be written beside the mean.
std::optional<std::string> with_deviation(double mean, double deviation) {
  const int decimals = std::max(0, kSignificant - 1 - exponent_of(deviation, kSignificant));
  const int before_point = mean == 0 ? 0 : std::max(0, exponent_of(mean, kSignificant));
  if (before_point + decimals > kMostDigits) return std::nullopt;
  return fixed_unsigned_zero(mean, decimals) + " ± " + fixed(deviation, decimals);
}

// "(1.24 ± 0.31)e8": both by the exponent of the larger one.
std::optional<std::string> with_common_exponent(double mean, double deviation) {
  const int exponent =
      exponent_of(std::max(std::abs(mean), deviation), std::numeric_limits<double>::digits10);
  const double power = std::pow(10.0, exponent);
  const auto text = with_deviation(mean / power, deviation / power);
  if (!text) return std::nullopt;
  return '(' + *text + ")e" + std::to_string(exponent);
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  // The same sums in whatever order the runs stand; NaN has no place in an order.
  if (std::none_of(values.begin(), values.end(), [](double value) { return std::isnan(value); }))
    std::sort(values.begin(), values.end());
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return {kNone, kNone, 0};
  Spread spread{0, 0, values.size()};
  const auto n = static_cast<double>(values.size());
  for (const double value : values) spread.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / (n - 1));
  if (values.size() < 2) spread.deviation = kNone;
  return spread;
}

std::vector<size_t> ranked(const std::vector<Spread>& points, bool highest_first) {
  std::vector<Cell> means;
  for (const Spread& point : points) means.push_back(Cell::number(point.mean));
  std::vector<size_t> places = sorted_order(means, highest_first);
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t i, size_t j) { return points[i].count > points[j].count; });
  return places;
}

std::string mean_text(const Spread& spread) {
  if (spread.count == 1) return four_digits(spread.mean);
  const double larger = std::max(std::abs(spread.mean), spread.deviation);
  const bool plain = larger >= kSmallest && larger < kLargest;
  std::optional<std::string> text;
  if (spread.deviation > 0 && std::isfinite(larger))
    text = plain ? with_deviation(spread.mean, spread.deviation)
                 : with_common_exponent(spread.mean, spread.deviation);
  return text.value_or(four_digits(spread.mean) + " ± " + four_digits(spread.deviation));
}

std::string to_string(const Spread& spread) {
  if (spread.count == 0) return "";
  return mean_text(spread) + " (" + std::to_string(spread.count) + ")";
}

}  // namespace exprun
