#include "store/summary.h"

#include <cmath>
#include <optional>

#include "store/query.h"

namespace exprun {
namespace {

// Of one batch; the first of equal extremes counts, as in recompute_summary.
struct Summary {
  int64_t count = 0, non_finite = 0, last_step = 0;
  double last = 0;
  std::optional<double> min, max;
  std::optional<int64_t> min_step, max_step, first_non_finite_step;

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

constexpr const char* kRecompute =
    "UPDATE series SET (count, non_finite, first_non_finite_step) = "
    "  (SELECT count(*), count(*) - count(f), min(CASE WHEN f IS NULL THEN step END) "
    "     FROM (SELECT step, CASE WHEN abs(value) < 9e999 THEN 1 END AS f "
    "             FROM metric WHERE series = ?1)), "
    "(last, last_step) = (SELECT value, step FROM metric WHERE series = ?1 "
    "                     ORDER BY step DESC LIMIT 1), "
    "(min, min_step) = (SELECT value, step FROM metric WHERE series = ?1 AND abs(value) < 9e999 "
    "                   ORDER BY value, step LIMIT 1), "
    "(max, max_step) = (SELECT value, step FROM metric WHERE series = ?1 AND abs(value) < 9e999 "
    "                   ORDER BY value DESC, step LIMIT 1) "
    "WHERE id = ?1";

}  // namespace

void extend_summary(Connection& connection, int64_t series, std::span<const StampedValue> values) {
  if (values.empty()) return;
  Summary batch;
  for (const StampedValue& value : values) batch.add(value);
  Query(connection, kExtend, series, batch.count, batch.non_finite, batch.first_non_finite_step,
        batch.last, batch.last_step, batch.min, batch.min_step, batch.max, batch.max_step)
      .run();
}

void recompute_summary(Connection& connection, int64_t series) {
  Query(connection, kRecompute, series).run();
}

}  // namespace exprun
