// Reading series and their values.
#include "store/points.h"
#include "store/store_impl.h"

namespace exprun {
namespace {

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
  each_point(connection, series.id, kBeforeAllSteps, [&](const StampedValue& point) {
    visit({series.name, 0, point.step, point.value, seconds(point.time_ms)});
  });
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

std::vector<std::string> Store::series_names() const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::vector<std::string> names;
    Query query(connection, "SELECT DISTINCT name FROM series ORDER BY name");
    while (query.step()) names.push_back(query.text(0));
    return names;
  });
}

void Store::each_value(int64_t run, bool archived,
                       const std::function<void(const ValueRow&)>& visit) const {
  Connection& connection = *impl_->connection;
  connection.guarded("read", [&] {
    for (const SeriesRow& row : series(run)) {
      if (archived) visit_archived(connection, row, visit);
      visit_live(connection, row, visit);
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
    each_point(connection, series, after_step, [&](const StampedValue& point) {
      rows.push_back({point.step, point.value});
    });
    return rows;
  });
}

}  // namespace exprun
