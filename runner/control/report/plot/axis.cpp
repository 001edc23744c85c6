#include "control/report/plot/axis.h"

#include <algorithm>
#include <cmath>

#include "base/format_units.h"

namespace exprun {
namespace {

constexpr double kSlack =
    1e-9;  // of a step: an end that is round by all but its last bits has a tick
constexpr double kWrittenOutBelow = 1e6, kWrittenOutFrom = 1e-3;

int exponent_of(double value) {
  return static_cast<int>(std::floor(std::log10(std::abs(value)) + kSlack));
}

// 1, 2 or 5 times a power of ten, and at least `least`.
double round_step(double least) {
  const double power = std::pow(10, exponent_of(least));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - kSlack)) return factor * power;
  return 10 * power;
}

// With as many digits as neighbors differ in.
std::string with_exponent(double value, double step) {
  const int exponent = exponent_of(value);
  const int digits = std::max(0, exponent - exponent_of(step));
  return fixed(value / std::pow(10, exponent), digits) + 'e' + std::to_string(exponent);
}

std::string linear_text(double value, double step, double largest) {
  if (std::abs(value) < step / 2) return "0";
  if (largest >= kWrittenOutBelow || largest < kWrittenOutFrom) return with_exponent(value, step);
  const int digits = std::max(0, -exponent_of(step));
  return digits == 0 ? with_thousands(std::llround(value)) : fixed(value, digits);
}

std::vector<Tick> linear_ticks(const Axis& axis, size_t most) {
  const double range = axis.high - axis.low;
  double step = round_step(range / static_cast<double>(most));
  if (axis.is_whole) step = std::max(step, 1.0);
  const auto first = [&] { return std::ceil(axis.low / step - kSlack); };
  const auto last = [&] { return std::floor(axis.high / step + kSlack); };
  while (last() - first() + 1 > static_cast<double>(most)) step = round_step(step * 1.5);
  const double largest = std::max(std::abs(axis.low), std::abs(axis.high));
  std::vector<Tick> ticks;
  for (double i = first(); i <= last(); ++i)
    ticks.push_back({axis.at(i * step), linear_text(i * step, step, largest)});
  return ticks;
}

std::string power_text(double value) {
  const bool is_written_out = value >= 1 && value < kWrittenOutBelow;
  if (is_written_out) return with_thousands(std::llround(value));
  return value < 1 ? shortest(value) : with_exponent(value, value);
}

// Those of the decades, at `factors` times a power of ten.
std::vector<Tick> decade_ticks(const Axis& axis, const std::vector<double>& factors) {
  std::vector<Tick> ticks;
  for (int exponent = exponent_of(axis.low); exponent <= exponent_of(axis.high); ++exponent)
    for (const double factor : factors) {
      const double value = std::stod(shortest(factor) + 'e' + std::to_string(exponent));
      if (value >= axis.low * (1 - kSlack) && value <= axis.high * (1 + kSlack))
        ticks.push_back({axis.at(value), power_text(value)});
    }
  return ticks;
}

std::vector<Tick> log_ticks(const Axis& axis, size_t most) {
  if (auto all = decade_ticks(axis, {1, 2, 5}); all.size() >= 2 && all.size() <= most) return all;
  const auto powers = decade_ticks(axis, {1});
  if (powers.size() < 2) return linear_ticks(axis, most);
  std::vector<Tick> kept;
  const size_t stride = (powers.size() + most - 1) / most;
  for (size_t i = 0; i < powers.size(); i += stride) kept.push_back(powers[i]);
  return kept;
}

}  // namespace

double Axis::at(double value) const {
  if (is_log) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

std::vector<Tick> ticks(const Axis& axis, size_t most) {
  most = std::max<size_t>(most, 2);
  return axis.is_log ? log_ticks(axis, most) : linear_ticks(axis, most);
}

}  // namespace exprun
