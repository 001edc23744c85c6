// Values of many series on their way into the store.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/database/connection.h"

namespace exprun {

struct SeriesName {
  std::string name;
  bool timing = false;
};

struct MetricPoint {
  int64_t step = 0;
  int64_t time_ms = 0;  // since the run's first start
  double value = 0;
  uint32_t series = 0;  // index in the names that come along
};

// Writes the points as attempt `attempt` of `run`, makes the series that are new and keeps their
// summaries true. A second value of the same series and step replaces the first. Rows that a later
// attempt has overtaken go to the archive, so that an old batch may come late or twice. A run that
// is being purged takes no more values. Inside a write transaction.
void write_batch(Connection& connection, int64_t run, int64_t attempt,
                 std::span<const SeriesName> names, std::span<const MetricPoint> points);

// Says that the attempt lives and how far it is.
void write_beat(Connection& connection, int64_t run, int64_t attempt, int64_t last_step,
                int64_t now_ms);

}  // namespace exprun
