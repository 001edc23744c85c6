#include "store/attempts.h"
#include "store/query.h"
#include "store/summary.h"

namespace exprun {
namespace {

// A live row of step s was written by the last attempt that began before s, because every attempt
// archives what lies after its beginning. The first attempt also wrote step 0.
constexpr const char* kArchive =
    "INSERT OR REPLACE INTO metric_archived (series, attempt, step, value, time_ms) "
    "SELECT m.series, coalesce((SELECT max(a.attempt) FROM attempt AS a "
    "                           WHERE a.run = ?1 AND a.from_step < m.step), 1), "
    "       m.step, m.value, m.time_ms "
    "FROM metric AS m WHERE m.series = ?2 AND m.step > ?3";

std::vector<int64_t> series_after(Connection& connection, int64_t run, int64_t step) {
  std::vector<int64_t> series;
  Query query(connection, "SELECT id FROM series WHERE run = ? AND last_step > ?", run, step);
  while (query.step()) series.push_back(query.integer(0));
  return series;
}

}  // namespace

void archive_after(Connection& connection, int64_t run, int64_t from_step) {
  for (const int64_t series : series_after(connection, run, from_step)) {
    Query(connection, kArchive, run, series, from_step).run();
    Query(connection, "DELETE FROM metric WHERE series = ? AND step > ?", series, from_step).run();
    recompute_summary(connection, series);
  }
  Query(connection, "DELETE FROM checkpoint WHERE run = ? AND step > ?", run, from_step).run();
}

}  // namespace exprun
