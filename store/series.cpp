// Reading series and their values.
#include <cmath>
#include <limits>

#include "store/store_impl.h"

namespace exprun {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// NULL stands for NaN: FORMAT.md.
double real_or_nan(Query& query, int column) {
  return query.is_null(column) ? kNan : query.real(column);
}

SeriesRow read_series(Query& query) {
  SeriesRow row;
  row.id = query.integer(0);
  row.run = query.integer(1);
  row.name = query.text(2);
  row.timing = query.integer(3) != 0;
  row.count = query.integer(4);
  row.non_finite = query.integer(5);
  row.first_non_finite_step = query.optional_integer(6);
  row.last = real_or_nan(query, 7);
  row.last_step = query.integer(8);
  row.min = real_or_nan(query, 9);
  row.min_step = query.integer(10);
  row.max = real_or_nan(query, 11);
  row.max_step = query.integer(12);
  return row;
}

constexpr const char* kSelectSeries =
    "SELECT id, run, name, timing, count, non_finite, first_non_finite_step, last, last_step, min, "
    "min_step, max, max_step FROM series ";

constexpr const char* kLive =
    "SELECT 0, step, value, time_ms FROM metric WHERE series = ? ORDER BY step";
constexpr const char* kArchived =
    "SELECT attempt, step, value, time_ms FROM metric_archived WHERE series = ? "
    "ORDER BY attempt, step";

void visit_values(Connection& connection, const SeriesRow& series, const char* sql,
                  const std::function<void(const ValueRow&)>& visit) {
  Query query(connection, sql, series.id);
  while (query.step()) {
    visit({series.name, query.integer(0), query.integer(1), real_or_nan(query, 2),
           static_cast<double>(query.integer(3)) / 1000});
  }
}

}  // namespace

std::map<int64_t, SeriesRow> Store::series_by_run(const std::string& name) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::map<int64_t, SeriesRow> rows;
    Query query(connection, std::string(kSelectSeries) + "WHERE name = ? ORDER BY run", name);
    while (query.step()) rows.emplace_hint(rows.end(), query.integer(1), read_series(query));
    return rows;
  });
}

void Store::each_value(int64_t run, bool archived,
                       const std::function<void(const ValueRow&)>& visit) const {
  Connection& connection = *impl_->connection;
  connection.guarded("read", [&] {
    for (const SeriesRow& row : series(run)) {
      if (archived) visit_values(connection, row, kArchived, visit);
      visit_values(connection, row, kLive, visit);
    }
  });
}

std::vector<SeriesRow> Store::series(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::vector<SeriesRow> rows;
    Query query(connection, std::string(kSelectSeries) + "WHERE run = ? ORDER BY name", run);
    while (query.step()) rows.push_back(read_series(query));
    return rows;
  });
}

std::vector<MetricRow> Store::metrics(int64_t series, int64_t after_step) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::vector<MetricRow> rows;
    Query query(connection,
                "SELECT step, value FROM metric WHERE series = ? AND step > ? ORDER BY step",
                series, after_step);
    while (query.step()) rows.push_back({query.integer(0), real_or_nan(query, 1)});
    return rows;
  });
}

}  // namespace exprun
