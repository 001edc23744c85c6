#include "store/metrics/metric_batch.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/clock.h"
#include "store/database/connection.h"
#include "store/metrics/series.h"
#include "store/store.h"

namespace exprun {
namespace {

using Values = std::vector<MetricRow>;

std::vector<Values> by_series(size_t series, std::span<const MetricPoint> points) {
  std::vector<Values> values(series);
  for (const MetricPoint& point : points) {
    values.at(point.series).push_back({point.step, point.value, point.time_ms});
  }
  return values;
}

// Nobody would remove what is written after a purge.
bool takes_values(Connection& connection, int64_t run) {
  return Query(connection, "SELECT 1 FROM run WHERE id = ? AND purging = 0", run).step();
}

int64_t series_id(Connection& connection, int64_t run, const SeriesName& series) {
  {
    Query known(connection, "SELECT id FROM series WHERE run = ? AND name = ?", run, series.name);
    if (known.step()) return known.integer(0);
  }
  Query(connection, "INSERT INTO series (run, name, timing) VALUES (?, ?, ?)", run, series.name,
        series.timing)
      .run();
  return connection.database().getLastInsertRowid();
}

// Steps after this one belong to a later attempt.
int64_t overtaken_after(Connection& connection, int64_t run, int64_t attempt) {
  Query query(connection, "SELECT min(from_step) FROM attempt WHERE run = ? AND attempt > ?", run,
              attempt);
  query.step();
  return query.optional_integer(0).value_or(std::numeric_limits<int64_t>::max());
}

bool extends(Connection& connection, int64_t series, const Values& values) {
  Query query(connection, "SELECT last_step FROM series WHERE id = ?", series);
  query.step();
  int64_t last = query.optional_integer(0).value_or(std::numeric_limits<int64_t>::min());
  return std::all_of(values.begin(), values.end(), [&](const MetricRow& value) {
    return std::exchange(last, value.step) < value.step;
  });
}

void insert_live(Connection& connection, int64_t series, const Values& values) {
  if (values.empty()) return;
  const bool extending = extends(connection, series, values);
  insert_points(connection, series, values);
  if (extending)
    extend_summary(connection, series, values);
  else
    recompute_summary(connection, series);
}

void insert_archived(Connection& connection, int64_t series, int64_t attempt,
                     const Values& values) {
  for (const MetricRow& value : values) {
    Query(connection,
          "INSERT OR REPLACE INTO metric_archived (series, attempt, step, value, time_ms) "
          "VALUES (?, ?, ?, ?, ?)",
          series, attempt, value.step, value.value, value.time_ms)
        .run();
  }
}

}  // namespace

void write_batch(Connection& connection, int64_t run, int64_t attempt,
                 std::span<const SeriesName> names, std::span<const MetricPoint> points) {
  if (!takes_values(connection, run)) return;
  const int64_t boundary = overtaken_after(connection, run, attempt);
  std::vector<Values> batch = by_series(names.size(), points);
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch[i].empty()) continue;
    const int64_t series = series_id(connection, run, names[i]);
    const auto overtaken =
        std::stable_partition(batch[i].begin(), batch[i].end(),
                              [&](const MetricRow& value) { return value.step <= boundary; });
    insert_archived(connection, series, attempt, Values(overtaken, batch[i].end()));
    batch[i].erase(overtaken, batch[i].end());
    insert_live(connection, series, batch[i]);
  }
}

void Store::record_evaluation(int64_t run, int64_t step,
                              const std::map<std::string, double>& metrics) {
  connection_->write("record an evaluation in", Connection::Durability::synced, [&] {
    Query query(*connection_, "SELECT attempt, started_ms FROM run WHERE id = ?", run);
    if (!query.step()) return;  // it was purged meanwhile
    const int64_t attempt = query.integer(0), time_ms = now_ms() - query.integer(1);
    std::vector<SeriesName> names;
    std::vector<MetricPoint> points;
    for (const auto& [name, value] : metrics) {
      points.push_back({step, time_ms, value, static_cast<uint32_t>(names.size())});
      names.push_back({"eval/" + name});
    }
    write_batch(*connection_, run, attempt, names, points);
  });
}

void write_beat(Connection& connection, int64_t run, int64_t attempt, int64_t last_step,
                int64_t now_ms) {
  Query(connection,
        "UPDATE attempt SET last_step = max(last_step, ?3), last_beat_ms = max(last_beat_ms, ?4) "
        "WHERE run = ?1 AND attempt = ?2",
        run, attempt, last_step, now_ms)
      .run();
}

}  // namespace exprun
