#include "control/report/table.h"

#include "base/humane.h"

namespace exprun {

std::optional<double> Cell::as_number() const {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

Cell Cell::integer(int64_t value) {
  return {value, std::to_string(value)};
}

Cell Cell::number(double value) {
  return {value, four_digits(value)};
}

}  // namespace exprun
