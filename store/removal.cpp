// Removing runs, and taking out of the store what nobody needs: in parts, each in a transaction of
// its own, so that a run of millions of values costs no memory, no long WAL and nobody else's time.
#include "base/clock.h"
#include "store/database/connection.h"
#include "store/store.h"

namespace exprun {
namespace {

constexpr int64_t kRowsAtOnce = 50'000;
constexpr int64_t kPagesAtOnce = 2'000;  // 8 MB
constexpr Connection::Durability kWritten = Connection::Durability::written;

// Deletes in the order of the key, of which `rest` is what follows the series, so that each part
// begins where the one before has ended.
int64_t delete_in_parts(Connection& connection, const std::string& table, const std::string& rest,
                        int64_t series) {
  const std::string remove = "DELETE FROM " + table + " WHERE series = ?1 AND (series, " + rest +
                             ") IN (SELECT series, " + rest + " FROM " + table +
                             " WHERE series = ?1 LIMIT ?2)";
  int64_t deleted = 0;
  for (int count = 1; count > 0; deleted += count) {
    count = connection.write("remove values from", kWritten,
                             [&] { return Query(connection, remove, series, kRowsAtOnce).run(); });
  }
  return deleted;
}

int64_t delete_archived(Connection& connection, int64_t series) {
  return delete_in_parts(connection, "metric_archived", "attempt, step", series);
}

std::vector<int64_t> series_of(Connection& connection, int64_t run) {
  return connection.guarded("read", [&] {
    return Query(connection, "SELECT id FROM series WHERE run = ?", run).integers();
  });
}

// In an order that no foreign key minds.
void forget(Connection& connection, int64_t run) {
  Query(connection, "UPDATE trial SET run = NULL, purged = 1 WHERE run = ?", run).run();
  for (const char* table : {"series", "checkpoint", "event", "parameter", "tag", "note", "run_blob",
                            "attempt_blob", "attempt"}) {
    Query(connection, std::string("DELETE FROM ") + table + " WHERE run = ?", run).run();
  }
  Query(connection, "DELETE FROM run WHERE id = ?", run).run();
}

int64_t bytes_of_free_pages(Connection& connection) {
  SQLite::Database& database = connection.database();
  return database.execAndGet("PRAGMA freelist_count").getInt64() *
         database.execAndGet("PRAGMA page_size").getInt64();
}

}  // namespace

void Store::remove_run(int64_t run) {
  connection_->write("remove a run from", Connection::Durability::synced, [&] {
    Query(*connection_, "UPDATE run SET removed_ms = ? WHERE id = ? AND removed_ms IS NULL",
          now_ms(), run)
        .run();
  });
}

bool Store::restore_run(int64_t run) {
  return connection_->write("restore a run in", Connection::Durability::synced, [&] {
    return Query(*connection_, "UPDATE run SET removed_ms = NULL WHERE id = ? AND purging = 0", run)
               .run() == 1;
  });
}

void Store::purge_run(int64_t run, const std::function<void()>& remove_folder) {
  const bool begun = connection_->write("purge a run from", Connection::Durability::synced, [&] {
    return Query(*connection_, "UPDATE run SET purging = 1 WHERE id = ? AND removed_ms IS NOT NULL",
                 run)
               .run() == 1;
  });
  if (!begun) return;  // it was restored meanwhile, or somebody else has purged it
  remove_folder();
  for (const int64_t series : series_of(*connection_, run)) {
    delete_in_parts(*connection_, "metric", "step", series);
    delete_archived(*connection_, series);
  }
  connection_->write("purge a run from", kWritten, [&] { forget(*connection_, run); });
}

int64_t Store::archived_values(int64_t run) const {
  return connection_->guarded("read", [&] {
    Query query(*connection_,
                "SELECT count(*) FROM metric_archived WHERE series IN "
                "(SELECT id FROM series WHERE run = ?)",
                run);
    query.step();
    return query.integer(0);
  });
}

int64_t Store::purge_archived(int64_t run) {
  int64_t deleted = 0;
  for (const int64_t series : series_of(*connection_, run)) {
    deleted += delete_archived(*connection_, series);
  }
  return deleted;
}

int64_t Store::purge_blobs() {
  return connection_->write("remove texts from", kWritten, [&] {
    return Query(*connection_,
                 "DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM run_blob WHERE blob = blob.id) "
                 "AND NOT EXISTS (SELECT 1 FROM attempt_blob WHERE blob = blob.id) "
                 "AND id NOT IN (SELECT space FROM sweep)")
        .run();
  });
}

int64_t Store::return_space() {
  const int64_t before =
      connection_->guarded("read", [&] { return bytes_of_free_pages(*connection_); });
  for (int64_t left = before; left > 0;) {
    connection_->write("return space of", kWritten, [&] {
      Query pages(*connection_, "PRAGMA incremental_vacuum(" + std::to_string(kPagesAtOnce) + ")");
      while (pages.step()) continue;  // each step frees one page
    });
    const int64_t now =
        connection_->guarded("read", [&] { return bytes_of_free_pages(*connection_); });
    if (now >= left) break;  // an older store without auto_vacuum keeps its free pages
    left = now;
  }
  return before - connection_->guarded("read", [&] { return bytes_of_free_pages(*connection_); });
}

}  // namespace exprun
