#include "control/report/table.h"

#include "base/humane.h"

namespace exprun {

Cell Cell::integer(int64_t value) {
  return {value, std::to_string(value)};
}

Cell Cell::number(double value) {
  return {value, four_digits(value)};
}

}  // namespace exprun
