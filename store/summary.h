// The summary row of a series: what reports read instead of the metrics.
#pragma once

#include <cstdint>
#include <span>

#include "store/points.h"

namespace exprun {

// Adds values to the summary. Their steps must rise and lie after the summary's last step.
void extend_summary(Connection& connection, int64_t series, std::span<const StampedValue> values);

// From all values of the series, for when some were replaced or removed.
void recompute_summary(Connection& connection, int64_t series);

}  // namespace exprun
