#include "store/value_health.h"

#include "store/query.h"

namespace exprun {
namespace {

// Each finds the runs of the series that it is wrong of: a row a series or pack.
constexpr std::pair<const char*, const char*> kWrongSeries[] = {
    {"packs whose first step is not that of their steps",
     "SELECT s.run FROM packed_metric AS p JOIN packed_steps AS a ON a.id = p.steps "
     "JOIN series AS s ON s.id = p.series WHERE p.first_step <> a.s0"},
    {"packs that reach into the next",
     "SELECT s.run FROM packed_metric AS p JOIN packed_steps AS a ON a.id = p.steps "
     "JOIN series AS s ON s.id = p.series WHERE EXISTS (SELECT 1 FROM packed_metric AS q "
     "WHERE q.series = p.series AND q.first_step > p.first_step AND q.first_step <= a.s107)"},
    {"series with rows that do not come after their packs",
     "SELECT s.run FROM series AS s WHERE (SELECT min(step) FROM metric WHERE series = s.id) <= "
     "(SELECT a.s107 FROM packed_metric AS p JOIN packed_steps AS a ON a.id = p.steps "
     "WHERE p.series = s.id ORDER BY p.first_step DESC LIMIT 1)"},
    {"series whose count is not that of their values",
     "SELECT s.run FROM series AS s WHERE s.count <> "
     "(SELECT count(*) FROM metric WHERE series = s.id) + "
     "(SELECT count(*) FROM packed_metric WHERE series = s.id) * 108"}};

// A step of the recursion is a step down the key's tree, however many rows a series has.
std::string without_series(const std::string& table) {
  return "WITH RECURSIVE has (id) AS (SELECT min(series) FROM " + table +
         " UNION ALL SELECT (SELECT min(series) FROM " + table +
         " WHERE series > has.id) FROM has WHERE has.id IS NOT NULL) "
         "SELECT count(*) FROM has WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM series)";
}

}  // namespace

std::string value_health(Connection& connection) {
  for (const auto& [what, runs] : kWrongSeries) {
    Query query(connection, "SELECT count(*), min(w.run) FROM (" + std::string(runs) +
                                ") AS w JOIN run AS r ON r.id = w.run WHERE r.removed_ms IS NULL");
    query.step();
    if (query.integer(0) == 0) continue;
    const std::string run = std::to_string(query.integer(1));
    return std::to_string(query.integer(0)) + ' ' + what + ", first of run " + run +
           ": exprun gc --unpack " + run +
           " mends it, and what a merge left unfinished, to merge again";
  }
  for (const char* table : {"metric", "metric_archived", "packed_metric"}) {
    Query query(connection, without_series(table));
    query.step();
    if (query.integer(0) > 0)
      return "values in " + std::string(table) + " of " + std::to_string(query.integer(0)) +
             " series that are not there: a later run may take them for its own; exprun merge into "
             "a new store leaves them behind";
  }
  return "ok";
}

}  // namespace exprun
