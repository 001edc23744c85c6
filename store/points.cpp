#include "store/points.h"

#include <string>

#include "store/query.h"

namespace exprun {
namespace {

constexpr size_t kRowsPerStatement = 32;  // spreads the cost of starting a statement

// "INSERT ... VALUES (?, ?, ?, ?), ..." with `rows` rows.
std::string insert_of(size_t rows) {
  std::string sql = "INSERT OR REPLACE INTO metric (series, step, value, time_ms) VALUES ";
  for (size_t i = 0; i < rows; ++i) sql += i == 0 ? "(?, ?, ?, ?)" : ", (?, ?, ?, ?)";
  return sql;
}

}  // namespace

void each_point(Connection& connection, int64_t series, int64_t after_step,
                const std::function<void(const StampedValue&)>& visit) {
  Query query(connection,
              "SELECT step, value, time_ms FROM metric WHERE series = ? AND step > ? ORDER BY step",
              series, after_step);
  while (query.step()) visit({query.integer(0), query.real_or_nan(1), query.integer(2)});
}

void insert_points(Connection& connection, int64_t series, std::span<const StampedValue> values) {
  static const std::string kMany = insert_of(kRowsPerStatement);
  static const std::string kOne = insert_of(1);
  while (!values.empty()) {
    const bool many = values.size() >= kRowsPerStatement;
    SQLite::Statement& insert = connection.prepared(many ? kMany : kOne);
    const auto rows = values.first(many ? kRowsPerStatement : 1);
    int index = 0;
    for (const StampedValue& value : rows) {
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

}  // namespace exprun
