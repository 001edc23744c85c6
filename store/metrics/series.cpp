#include "store/metrics/series.h"

#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>

#include "store/database/connection.h"
#include "store/store.h"

namespace exprun {
namespace {

constexpr size_t kRowsPerStatement = 32;  // spreads the cost of starting a statement

// "INSERT ... VALUES (?, ?, ?, ?), ..." with `rows` rows.
std::string insert_of(size_t rows) {
  std::string sql = "INSERT OR REPLACE INTO metric (series, step, value, time_ms) VALUES ";
  for (size_t i = 0; i < rows; ++i) sql += i == 0 ? "(?, ?, ?, ?)" : ", (?, ?, ?, ?)";
  return sql;
}

// The first value at a step or after it.
std::optional<MetricRow> first_from(Connection& connection, int64_t series, int64_t step) {
  Query query(connection,
              "SELECT step, value, time_ms FROM metric WHERE series = ? AND step >= ? ORDER BY "
              "step LIMIT 1",
              series, step);
  if (!query.step()) return std::nullopt;
  return MetricRow{query.integer(0), query.real_or_nan(1), query.integer(2)};
}

double real_or_nan(sqlite3_value* value) {
  const bool is_null = sqlite3_value_type(value) == SQLITE_NULL;  // stands for NaN
  return is_null ? std::numeric_limits<double>::quiet_NaN() : sqlite3_value_double(value);
}

}  // namespace

// The table is ordered by series and step, and has no other index: rows come by rising steps.
void each_point(Connection& connection, int64_t series, int64_t after_step,
                const std::function<void(const MetricRow&)>& visit, int64_t last_step) {
  static const std::string kOpen =
      "SELECT each_row(step, value, time_ms) FROM metric WHERE series = ? AND step > ?";
  static const std::string kBounded = kOpen + " AND step <= ?";  // looked at for every row
  const auto on_row = [&](sqlite3_value** values) {
    visit({sqlite3_value_int64(values[0]), real_or_nan(values[1]), sqlite3_value_int64(values[2])});
  };
  if (last_step == kAfterAllSteps)
    Query(connection, kOpen, series, after_step).each_row(on_row);
  else
    Query(connection, kBounded, series, after_step, last_step).each_row(on_row);
}

void insert_points(Connection& connection, int64_t series, std::span<const MetricRow> values) {
  static const std::string kMany = insert_of(kRowsPerStatement);
  static const std::string kOne = insert_of(1);
  while (!values.empty()) {
    const bool many = values.size() >= kRowsPerStatement;
    SQLite::Statement& insert = connection.prepared(many ? kMany : kOne);
    const auto rows = values.first(many ? kRowsPerStatement : 1);
    int index = 0;
    for (const MetricRow& value : rows) {
      insert.bind(++index, series);
      insert.bind(++index, value.step);
      insert.bind(++index, value.value);
      insert.bind(++index, value.time_ms);
    }
    insert.exec();
    insert.reset();
    values = values.subspan(rows.size());
  }
}

namespace {

// Reading series and their values.

SeriesRow read_series(Query& query) {
  SeriesRow row;
  row.id = query.integer(0);
  row.run = query.integer(1);
  row.name = query.text(2);
  row.timing = query.integer(3) != 0;
  row.count = query.integer(4);
  row.non_finite = query.integer(5);
  row.first_non_finite_step = query.optional_integer(6);
  row.last = query.real_or_nan(7);
  row.last_step = query.integer(8);
  row.min = query.real_or_nan(9);
  row.min_step = query.integer(10);
  row.max = query.real_or_nan(11);
  row.max_step = query.integer(12);
  return row;
}

constexpr const char* kSelectSeries =
    "SELECT id, run, name, timing, count, non_finite, first_non_finite_step, last, last_step, min, "
    "min_step, max, max_step FROM series ";

double seconds(int64_t ms) {
  return static_cast<double>(ms) / 1000;
}

void visit_archived(Connection& connection, const SeriesRow& series,
                    const std::function<void(const ValueRow&)>& visit) {
  Query query(connection,
              "SELECT attempt, step, value, time_ms FROM metric_archived WHERE series = ? "
              "ORDER BY attempt, step",
              series.id);
  while (query.step())
    visit({series.name, query.integer(0), query.integer(1), query.real_or_nan(2),
           seconds(query.integer(3))});
}

void visit_live(Connection& connection, const SeriesRow& series,
                const std::function<void(const ValueRow&)>& visit) {
  each_point(connection, series.id, kBeforeAllSteps, [&](const MetricRow& point) {
    visit({series.name, 0, point.step, point.value, seconds(point.time_ms)});
  });
}

}  // namespace

std::map<int64_t, SeriesRow> Store::series_by_run(const std::string& name) const {
  return connection_->guarded("read", [&] {
    std::map<int64_t, SeriesRow> rows;
    Query query(*connection_, std::string(kSelectSeries) + "WHERE name = ? ORDER BY run", name);
    while (query.step()) rows.emplace_hint(rows.end(), query.integer(1), read_series(query));
    return rows;
  });
}

std::set<int64_t> Store::runs_with_infinity(const std::string& name, double infinity) const {
  return connection_->guarded("read", [&] {
    const auto runs =
        Query(*connection_,
              "SELECT s.run FROM series AS s WHERE s.name = ?1 AND s.non_finite > 0 AND EXISTS "
              "(SELECT 1 FROM metric AS m WHERE m.series = s.id AND m.value = ?2)",
              name, infinity)
            .integers();
    return std::set<int64_t>(runs.begin(), runs.end());
  });
}

std::vector<std::string> Store::series_names() const {
  return connection_->guarded("read", [&] {
    return Query(*connection_, "SELECT DISTINCT name FROM series ORDER BY name").texts();
  });
}

void Store::each_value(int64_t run, bool archived,
                       const std::function<void(const ValueRow&)>& visit) const {
  connection_->guarded("read", [&] {
    for (const SeriesRow& row : series(run)) {
      if (archived) visit_archived(*connection_, row, visit);
      visit_live(*connection_, row, visit);
    }
  });
}

std::vector<SeriesRow> series_rows(Connection& connection, int64_t run) {
  return Query(connection, std::string(kSelectSeries) + "WHERE run = ? ORDER BY name", run)
      .rows(read_series);
}

std::vector<SeriesRow> Store::series(int64_t run) const {
  return connection_->guarded("read", [&] { return series_rows(*connection_, run); });
}

std::map<int64_t, double> Store::values_at(const std::string& name, int64_t step) const {
  return connection_->guarded("read", [&] {
    std::map<int64_t, double> values;
    Query query(*connection_,
                "SELECT s.run, m.value FROM series AS s CROSS JOIN metric AS m "
                "ON m.series = s.id AND m.step = ?2 WHERE s.name = ?1 ORDER BY s.run",
                name, step);
    while (query.step()) values.emplace_hint(values.end(), query.integer(0), query.real_or_nan(1));
    return values;
  });
}

std::vector<MetricRow> Store::thinned_metrics(int64_t series, int64_t most) const {
  return connection_->guarded("read", [&] {
    std::vector<MetricRow> rows;
    Query ends(*connection_, "SELECT min(step), max(step) FROM metric WHERE series = ?", series);
    if (!ends.step() || ends.is_null(0)) return rows;
    const int64_t first = ends.integer(0), last = ends.integer(1);
    const int64_t spans = std::max<int64_t>(most - 1, 1);
    for (int64_t i = 0; i < most; ++i) {
      const int64_t step = first + (last - first) / spans * i + (last - first) % spans * i / spans;
      if (!rows.empty() && rows.back().step >= step) continue;
      if (const auto row = first_from(*connection_, series, step)) rows.push_back(*row);
    }
    return rows;
  });
}

std::vector<MetricRow> Store::metrics(int64_t series, int64_t after_step) const {
  return connection_->guarded("read", [&] {
    std::vector<MetricRow> rows;
    each_point(*connection_, series, after_step,
               [&](const MetricRow& point) { rows.push_back(point); });
    return rows;
  });
}

void Store::each_metric(int64_t series, const std::function<void(const MetricRow&)>& visit) const {
  connection_->guarded("read", [&] { each_point(*connection_, series, kBeforeAllSteps, visit); });
}

namespace {

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

void write_summary(Connection& connection, const char* sql, int64_t series,
                   const SeriesSummary& of) {
  Query(connection, sql, series, of.count, of.non_finite, of.first_non_finite_step, of.last,
        of.last_step, of.min, of.min_step, of.max, of.max_step)
      .run();
}

}  // namespace

void SeriesSummary::add(const MetricRow& point) {
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

void extend_summary(Connection& connection, int64_t series, std::span<const MetricRow> values) {
  if (values.empty()) return;
  SeriesSummary batch;
  for (const MetricRow& value : values) batch.add(value);
  write_summary(connection, kExtend, series, batch);
}

namespace {

SeriesSummary summary_up_to(Connection& connection, int64_t series, int64_t last_step) {
  SeriesSummary all;
  each_point(
      connection, series, kBeforeAllSteps, [&](const MetricRow& value) { all.add(value); },
      last_step);
  return all;
}

// What has been added to a series shows in its summary.
bool is_as_before(const SeriesRow& now, const SeriesRow& before) {
  const auto all = [](const SeriesRow& row) {
    return std::tuple(row.count, row.non_finite, row.first_non_finite_step, row.last_step,
                      row.min_step, row.max_step);
  };
  return all(now) == all(before);
}

}  // namespace

void recompute_summary(Connection& connection, int64_t series) {
  write_summary(connection, kReplace, series, summary_up_to(connection, series, kAfterAllSteps));
}

// The rows come first: a value that is added while the values are read makes the row another.
KeptSummaries::KeptSummaries(Connection& connection, int64_t run, int64_t last_step) {
  for (SeriesRow& row : series_rows(connection, run)) {
    if (row.last_step <= last_step) continue;
    const int64_t id = row.id;
    kept_.emplace(id, Kept{std::move(row), summary_up_to(connection, id, last_step)});
  }
}

void KeptSummaries::restore(Connection& connection, const SeriesRow& now) const {
  const auto found = kept_.find(now.id);
  if (found == kept_.end() || !is_as_before(now, found->second.before))
    recompute_summary(connection, now.id);
  else
    write_summary(connection, kReplace, now.id, found->second.summary);
}

}  // namespace exprun
