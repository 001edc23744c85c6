// The summary row of a series: what reports read instead of the metrics.
#pragma once

#include <cstdint>
#include <span>

#include "store/connection.h"

namespace exprun {

// A value with its place in time: milliseconds since the run's first start.
struct StampedValue {
  int64_t step = 0;
  double value = 0;
  int64_t time_ms = 0;
};

// Adds values to the summary. Their steps must rise and lie after the summary's last step.
void extend_summary(Connection& connection, int64_t series, std::span<const StampedValue> values);

// From the rows of the series, for when some were replaced or removed.
void recompute_summary(Connection& connection, int64_t series);

}  // namespace exprun
