#include "store/packed_points.h"

#include "store/query.h"

namespace exprun {

std::string pack_columns(const std::string& letters, const std::string& separator,
                         const std::string& behind) {
  std::string sql;
  for (const char letter : letters)
    for (size_t i = 0; i < kPackPoints; ++i)
      sql += (sql.empty() ? "" : separator) + letter + std::to_string(i) + behind;
  return sql;
}

void each_packed_point(Connection& connection, int64_t series, int64_t after_step,
                       const std::function<void(const StampedValue&)>& visit) {
  static const std::string kSelect =
      "SELECT " + pack_columns("svt") +
      " FROM packed_metric AS p JOIN packed_steps AS a ON a.id = p.steps "
      "WHERE p.series = ? AND a.s107 > ? ORDER BY p.first_step";
  constexpr int kPoints = static_cast<int>(kPackPoints);
  Query query(connection, kSelect, series, after_step);
  while (query.step()) {
    for (int i = 0; i < kPoints; ++i) {
      const int64_t step = query.integer(i);
      if (step > after_step)
        visit({step, query.real_or_nan(kPoints + i), query.integer(2 * kPoints + i)});
    }
  }
}

}  // namespace exprun
