// The live values of a series: rows of `metric`.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "store/database/connection.h"
#include "store/rows.h"

namespace exprun {

inline constexpr int64_t kBeforeAllSteps = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kAfterAllSteps = std::numeric_limits<int64_t>::max();

// Visits those after a step, up to another, in the order of their steps.
void each_point(Connection& connection, int64_t series, int64_t after_step,
                const std::function<void(const MetricRow&)>& visit,
                int64_t last_step = kAfterAllSteps);

// One of the same step is replaced. Inside a write transaction; summaries are the caller's.
void insert_points(Connection& connection, int64_t series, std::span<const MetricRow> values);

// The series of a run, by name.
std::vector<SeriesRow> series_rows(Connection& connection, int64_t run);

// The summary row of a series: what reports read instead of the metrics.

// Of values in the order of their steps; the first of equal extremes counts.
struct SeriesSummary {
  int64_t count = 0, non_finite = 0;
  std::optional<double> last, min, max;
  std::optional<int64_t> last_step, min_step, max_step, first_non_finite_step;

  void add(const MetricRow& point);
};

// Adds values to the summary. Their steps must rise and lie after the summary's last step.
void extend_summary(Connection& connection, int64_t series, std::span<const MetricRow> values);

// From all values of the series, for when some were replaced or removed.
void recompute_summary(Connection& connection, int64_t series);

// The summaries of a run's series without the values after a step. Reading them takes as long as
// the run was; it needs no lock, so that no other run waits meanwhile.
class KeptSummaries {
 public:
  KeptSummaries(Connection& connection, int64_t run, int64_t last_step);

  // Inside a write transaction, when the values after the step are gone: makes the summary of a
  // series true again. `now` is its row before that; where it is not the one that was read, the
  // values are read again.
  void restore(Connection& connection, const SeriesRow& now) const;

 private:
  struct Kept {
    SeriesRow before;
    SeriesSummary summary;
  };
  std::map<int64_t, Kept> kept_;  // by series
};

}  // namespace exprun
