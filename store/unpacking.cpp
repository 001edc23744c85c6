#include "store/unpacking.h"

#include <optional>
#include <vector>

#include "store/packed_points.h"
#include "store/packing.h"
#include "store/store_impl.h"
#include "store/summary.h"

namespace exprun {
namespace {

std::vector<int64_t> series_with_packs(Connection& connection, int64_t run, int64_t after_step) {
  std::vector<int64_t> series;
  Query query(connection,
              "SELECT DISTINCT p.series FROM packed_steps AS a JOIN packed_metric AS p ON p.steps "
              "= a.id WHERE a.run = ? AND a.s107 > ?",
              run, after_step);
  while (query.step()) series.push_back(query.integer(0));
  return series;
}

// Of a run without packs; only of a damaged store, or beside a merge.
std::vector<int64_t> miscounted_series(Connection& connection, int64_t run) {
  std::vector<int64_t> series;
  Query query(connection,
              "SELECT id FROM series WHERE run = ? AND count <> (SELECT count(*) FROM metric "
              "WHERE series = series.id)",
              run);
  while (query.step()) series.push_back(query.integer(0));
  return series;
}

// Then rows that were made of its packs would be left behind.
bool is_being_purged(Connection& connection, int64_t series) {
  Query query(connection,
              "SELECT 1 FROM series AS s JOIN run AS r ON r.id = s.run "
              "WHERE s.id = ? AND r.purging = 1",
              series);
  return query.step();
}

// The first step of the earliest of the last packs that reach beyond `after_step`.
std::optional<int64_t> last_packs(Connection& connection, int64_t series, int64_t after_step) {
  Query query(connection,
              "SELECT min(first_step) FROM (SELECT p.first_step FROM packed_metric AS p JOIN "
              "packed_steps AS a ON a.id = p.steps WHERE p.series = ? AND a.s107 > ? "
              "ORDER BY p.first_step DESC LIMIT ?)",
              series, after_step, kPacksInPart);
  query.step();
  return query.optional_integer(0);
}

}  // namespace

int64_t unpack_part(Connection& connection, int64_t series, int64_t after_step) {
  const auto first = last_packs(connection, series, after_step);
  if (!first || is_being_purged(connection, series)) return 0;
  const int64_t rows =
      Query(connection,
            "INSERT OR IGNORE INTO metric (series, step, value, time_ms) SELECT series, step, "
            "value, time_ms FROM points WHERE series = ? AND packed = 1 AND pack >= ?",
            series, *first)
          .run();
  const int64_t packs =
      Query(connection, "DELETE FROM packed_metric WHERE series = ? AND first_step >= ?", series,
            *first)
          .run();
  Query(connection,
        "DELETE FROM packed_steps WHERE run = (SELECT run FROM series WHERE id = ?) AND s0 >= ? "
        "AND NOT EXISTS (SELECT 1 FROM packed_metric WHERE steps = packed_steps.id)",
        series, *first)
      .run();
  const int64_t values = packs * static_cast<int64_t>(kPackPoints);
  if (rows < values) recompute_summary(connection, series);  // some were rows too
  return values;
}

void unpack(Connection& connection, int64_t series, int64_t after_step) {
  while (unpack_part(connection, series, after_step) > 0) continue;
}

int64_t unpack_series_in_parts(Connection& connection, int64_t series, int64_t after_step) {
  int64_t values = 0;
  for (int64_t count = 1; count > 0; values += count) {
    count = connection.write("unpack values of", Connection::Durability::written,
                             [&] { return unpack_part(connection, series, after_step); });
  }
  return values;
}

int64_t unpack_in_parts(Connection& connection, int64_t run, int64_t after_step) {
  int64_t values = 0;
  const auto packed =
      connection.guarded("read", [&] { return series_with_packs(connection, run, after_step); });
  for (const int64_t series : packed)
    values += unpack_series_in_parts(connection, series, after_step);
  return values;
}

bool Store::has_packed(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded(
      "read", [&] { return !series_with_packs(connection, run, kBeforeAllSteps).empty(); });
}

int64_t Store::unpack_run(int64_t run) {
  Connection& connection = *impl_->connection;
  const int64_t values = unpack_in_parts(connection, run, kBeforeAllSteps);
  const auto wrong = connection.guarded("read", [&] { return miscounted_series(connection, run); });
  for (const int64_t series : wrong)
    connection.write("sum up values of", Connection::Durability::written,
                     [&] { recompute_summary(connection, series); });
  return values;
}

}  // namespace exprun
