#include <sqlite3.h>

#include <string>

#include "base/files/file.h"
#include "store/database/connection.h"
#include "store/database/open.h"
#include "store/store.h"

namespace exprun {
namespace {

// A step of the recursion is a step down the key's tree, however many rows a series has.
std::string without_series(const std::string& table) {
  return "WITH RECURSIVE has (id) AS (SELECT min(series) FROM " + table +
         " UNION ALL SELECT (SELECT min(series) FROM " + table +
         " WHERE series > has.id) FROM has WHERE has.id IS NOT NULL) "
         "SELECT count(*) FROM has WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM series)";
}

// "ok", or what is wrong, with the first run that it is wrong of, and what mends it. Reads every
// key of the values once, as PRAGMA integrity_check does, which does not look at any of this.
std::string value_health(Connection& connection) {
  Query wrong(connection,
              "SELECT count(*), min(s.run) FROM series AS s JOIN run AS r ON r.id = s.run WHERE "
              "r.removed_ms IS NULL AND "
              "s.count <> (SELECT count(*) FROM metric WHERE series = s.id)");
  wrong.step();
  if (wrong.integer(0) > 0)
    return std::to_string(wrong.integer(0)) +
           " series have a wrong count of values, the first in run " +
           std::to_string(wrong.integer(1)) +
           "; if a merge was interrupted, run exprun merge again";
  for (const char* table : {"metric", "metric_archived"}) {
    Query query(connection, without_series(table));
    query.step();
    if (query.integer(0) > 0)
      return "values in " + std::string(table) + " of " + std::to_string(query.integer(0)) +
             " missing series: a later run may get them by mistake; exprun merge into a new store "
             "does not copy them";
  }
  return "ok";
}

// What `doctor` tells about a store.

std::string first_value(Connection& connection, const char* sql) {
  return connection.database().execAndGet(sql).getString();
}

// What must be true of a store and PRAGMA integrity_check does not look at: it passes over the
// CHECKs of tables without a rowid.
constexpr std::pair<const char*, const char*> kImpossible[] = {
    {"attempts that neither run nor have ended in a known state",
     "SELECT count(*) FROM attempt WHERE (state = 'running') <> (ended_ms IS NULL) OR state NOT IN "
     "('running', 'finished', 'diverged', 'failed', 'interrupted', 'preempted', 'killed', "
     "'crashed', 'pruned')"},
    {"runs without their attempt",
     "SELECT count(*) FROM run AS r WHERE NOT EXISTS (SELECT 1 FROM attempt AS a WHERE a.run = "
     "r.id "
     "AND a.attempt = r.attempt)"},
    {"rows without what they refer to", "SELECT count(*) FROM pragma_foreign_key_check"}};

std::string integrity(Connection& connection) {
  std::string answer = first_value(connection, "PRAGMA integrity_check(1)");
  if (answer != "ok") return answer;
  for (const auto& [what, count] : kImpossible)
    if (const std::string found = first_value(connection, count); found != "0")
      return found + ' ' + what;
  return answer;
}

std::string place(Connection& connection) {
  const std::string network = network_file_system(folder_of(connection.file()));
  return network.empty() ? "local" : network + " (a network file system)";
}

uintmax_t size_of(const std::string& file) {
  std::error_code none;
  const auto size = std::filesystem::file_size(file, none);
  return none ? 0 : size;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Store::health() const {
  return connection_->guarded("check", [&] {
    const std::string sound = integrity(*connection_);
    return std::vector<std::pair<std::string, std::string>>{
        {"store", connection_->file().string()},
        {"sqlite", sqlite3_libversion()},
        {"format", first_value(*connection_, "PRAGMA user_version")},
        {"file_system", place(*connection_)},
        {"journal_mode", first_value(*connection_, "PRAGMA journal_mode")},
        {"wal_bytes", std::to_string(size_of(connection_->file().string() + "-wal"))},
        {"runs", first_value(*connection_, "SELECT count(*) FROM run")},
        {"removed_runs",
         first_value(*connection_, "SELECT count(*) FROM run WHERE removed_ms IS NOT NULL")},
        {"recorded_as_running",
         first_value(*connection_, "SELECT count(*) FROM attempt WHERE ended_ms IS NULL")},
        {"bytes", std::to_string(std::filesystem::file_size(connection_->file()))},
        {"values", sound == "ok" ? value_health(*connection_) : "not looked at"},
        {"integrity", sound},
    };
  });
}

}  // namespace exprun
