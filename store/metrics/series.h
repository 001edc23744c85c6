// The live values of a series: rows of `metric`.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "store/database/connection.h"

namespace exprun {

inline constexpr int64_t kBeforeAllSteps = std::numeric_limits<int64_t>::min();

// A value with its place in time: milliseconds since the run's first start.
struct StampedValue {
  int64_t step = 0;
  double value = 0;
  int64_t time_ms = 0;
};

// Visits those after a step in the order of their steps.
void each_point(Connection& connection, int64_t series, int64_t after_step,
                const std::function<void(const StampedValue&)>& visit);

// One of the same step is replaced. Inside a write transaction; summaries are the caller's.
void insert_points(Connection& connection, int64_t series, std::span<const StampedValue> values);

// The summary row of a series: what reports read instead of the metrics.

// Adds values to the summary. Their steps must rise and lie after the summary's last step.
void extend_summary(Connection& connection, int64_t series, std::span<const StampedValue> values);

// From all values of the series, for when some were replaced or removed.
void recompute_summary(Connection& connection, int64_t series);

}  // namespace exprun
