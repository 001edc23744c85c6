#include "store/summary.h"

#include <cmath>
#include <optional>

#include "store/query.h"

namespace exprun {
namespace {

// Of values in the order of their steps; the first of equal extremes counts.
struct Summary {
  int64_t count = 0, non_finite = 0;
  std::optional<double> last, min, max;
  std::optional<int64_t> last_step, min_step, max_step, first_non_finite_step;

  void add(const StampedValue& point) {
    ++count;
    last = point.value;
    last_step = point.step;
    if (!std::isfinite(point.value)) {
      ++non_finite;
      if (!first_non_finite_step) first_non_finite_step = point.step;
      return;
    }
    if (!min || point.value < *min) {
      min = point.value;
      min_step = point.step;
    }
    if (!max || point.value > *max) {
      max = point.value;
      max_step = point.step;
    }
  }
};

// In SQL, the right-hand sides of SET see the row as it was.
constexpr const char* kExtend =
    "UPDATE series SET count = count + ?2, non_finite = non_finite + ?3, "
    "first_non_finite_step = coalesce(first_non_finite_step, ?4), last = ?5, last_step = ?6, "
    "min = CASE WHEN min IS NULL OR ?7 < min THEN ?7 ELSE min END, "
    "min_step = CASE WHEN min IS NULL OR ?7 < min THEN ?8 ELSE min_step END, "
    "max = CASE WHEN max IS NULL OR ?9 > max THEN ?9 ELSE max END, "
    "max_step = CASE WHEN max IS NULL OR ?9 > max THEN ?10 ELSE max_step END "
    "WHERE id = ?1";

constexpr const char* kReplace =
    "UPDATE series SET count = ?2, non_finite = ?3, first_non_finite_step = ?4, last = ?5, "
    "last_step = ?6, min = ?7, min_step = ?8, max = ?9, max_step = ?10 WHERE id = ?1";

void write_summary(Connection& connection, const char* sql, int64_t series, const Summary& of) {
  Query(connection, sql, series, of.count, of.non_finite, of.first_non_finite_step, of.last,
        of.last_step, of.min, of.min_step, of.max, of.max_step)
      .run();
}

}  // namespace

void extend_summary(Connection& connection, int64_t series, std::span<const StampedValue> values) {
  if (values.empty()) return;
  Summary batch;
  for (const StampedValue& value : values) batch.add(value);
  write_summary(connection, kExtend, series, batch);
}

void recompute_summary(Connection& connection, int64_t series) {
  Summary all;
  each_point(connection, series, kBeforeAllSteps,
             [&](const StampedValue& value) { all.add(value); });
  write_summary(connection, kReplace, series, all);
}

}  // namespace exprun
