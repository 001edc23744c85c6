#include "store/merge_values.h"

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "store/points.h"
#include "store/query.h"
#include "store/store_error.h"
#include "store/summary.h"

namespace exprun {
namespace {

constexpr int64_t kStepsAtOnce = 50'000;
constexpr size_t kValuesAtOnce = 50'000;

// Values are written a part a transaction, so that nobody waits long for the lock. In between the
// run may be taken off the disk, and its values would be nobody's.
void write_values(Connection& connection, const Target& ours, const std::function<void()>& write) {
  connection.write("merge values into", Connection::Durability::written, [&] {
    Query kept(connection,
               "SELECT 1 FROM main.series AS s JOIN main.run AS r ON r.id = s.run "
               "WHERE s.id = ? AND s.run = ? AND r.purging = 0",
               ours.series, ours.run);
    if (!kept.step())
      throw store_error("merge values into", connection.file(),
                        "a run was removed and purged while it was merged; merge again");
    write();
  });
}

void copy_archived(Connection& connection, int64_t theirs, const Target& ours) {
  const auto [first, last] = connection.guarded("read", [&] {
    Query ends(connection,
               "SELECT min(step), max(step) FROM other.metric_archived WHERE series = ?", theirs);
    ends.step();
    return std::pair(ends.optional_integer(0), ends.optional_integer(1));
  });
  if (!first) return;
  for (int64_t step = *first; step <= *last; step += kStepsAtOnce) {
    write_values(connection, ours, [&] {
      Query(connection,
            "INSERT OR REPLACE INTO main.metric_archived (series, attempt, step, value, time_ms) "
            "SELECT ?1, attempt, step, value, time_ms FROM other.metric_archived "
            "WHERE series = ?2 AND step >= ?3 AND step < ?4",
            ours.series, theirs, step, step + kStepsAtOnce)
          .run();
    });
  }
}

// Between two steps the live values of a series become these. What the other has no live value for,
// it went on without: ours is in its archive, copied before.
void replace_live(Connection& connection, const Target& ours, int64_t after, int64_t up_to,
                  const std::vector<StampedValue>& values) {
  write_values(connection, ours, [&] {
    Query(connection, "DELETE FROM main.metric WHERE series = ? AND step > ? AND step <= ?",
          ours.series, after, up_to)
        .run();
    insert_points(connection, ours.series, values);
  });
}

// The other store is read on a connection of its own: it stays at one moment of it all the while.
void copy_live(Connection& connection, Connection& other, int64_t theirs, const Target& ours) {
  int64_t done = kBeforeAllSteps;
  std::vector<StampedValue> part;
  other.guarded("read", [&] {
    each_point(other, theirs, kBeforeAllSteps, [&](const StampedValue& point) {
      part.push_back(point);
      if (part.size() < kValuesAtOnce) return;
      replace_live(connection, ours, done, point.step, part);
      done = point.step;
      part.clear();
    });
  });
  replace_live(connection, ours, done, std::numeric_limits<int64_t>::max(), part);
}

}  // namespace

void copy_series_values(Connection& connection, Connection& other, int64_t theirs,
                        const Target& ours) {
  copy_archived(connection, theirs, ours);
  copy_live(connection, other, theirs, ours);
  write_values(connection, ours, [&] { recompute_summary(connection, ours.series); });
}

}  // namespace exprun
