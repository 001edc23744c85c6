// Reading rows of the view `all_runs`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/query.h"
#include "store/rows.h"

namespace exprun {

// The row of a statement that begins with kSelectRuns.
RunRow read_run(Query& query);

extern const std::string kSelectRuns;  // "SELECT <columns of RunRow> FROM all_runs "

// All runs of that statement with this tail: "WHERE ...", "ORDER BY ...".
template <typename... Values>
std::vector<RunRow> select_runs(Connection& connection, std::string_view tail,
                                const Values&... values) {
  std::vector<RunRow> rows;
  Query query(connection, kSelectRuns + std::string(tail), values...);
  while (query.step()) rows.push_back(read_run(query));
  return rows;
}

}  // namespace exprun
