#include "store/value_health.h"

#include "store/query.h"

namespace exprun {
namespace {

// A step of the recursion is a step down the key's tree, however many rows a series has.
std::string without_series(const std::string& table) {
  return "WITH RECURSIVE has (id) AS (SELECT min(series) FROM " + table +
         " UNION ALL SELECT (SELECT min(series) FROM " + table +
         " WHERE series > has.id) FROM has WHERE has.id IS NOT NULL) "
         "SELECT count(*) FROM has WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM series)";
}

}  // namespace

std::string value_health(Connection& connection) {
  Query wrong(connection,
              "SELECT count(*), min(s.run) FROM series AS s JOIN run AS r ON r.id = s.run WHERE "
              "r.removed_ms IS NULL AND "
              "s.count <> (SELECT count(*) FROM metric WHERE series = s.id)");
  wrong.step();
  if (wrong.integer(0) > 0)
    return std::to_string(wrong.integer(0)) + " series whose count is not that of their values, " +
           "first of run " + std::to_string(wrong.integer(1)) +
           ": a merge that was cut short is finished by merging again";
  for (const char* table : {"metric", "metric_archived"}) {
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
