// Checkpoints: the row comes after the folder, so a row means a checkpoint that can be used.
#include "store/store_impl.h"

namespace exprun {

void Store::record_checkpoint(const CheckpointRow& checkpoint) {
  Connection& connection = *impl_->connection;
  connection.write("record a checkpoint in", Connection::Durability::synced, [&] {
    Query(connection,
          "INSERT OR REPLACE INTO checkpoint (run, step, attempt, bytes, written_ms, folder) "
          "VALUES (?, ?, ?, ?, ?, ?)",
          checkpoint.run, checkpoint.step, checkpoint.attempt, checkpoint.bytes,
          checkpoint.written_ms, checkpoint.folder)
        .run();
  });
}

void Store::forget_checkpoint(int64_t run, int64_t step) {
  Connection& connection = *impl_->connection;
  connection.write("forget a checkpoint in", Connection::Durability::written, [&] {
    Query(connection, "DELETE FROM checkpoint WHERE run = ? AND step = ?", run, step).run();
  });
}

std::vector<CheckpointRow> Store::checkpoints(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::vector<CheckpointRow> rows;
    Query query(connection,
                "SELECT run, step, attempt, bytes, written_ms, folder FROM checkpoint "
                "WHERE run = ? ORDER BY step",
                run);
    while (query.step()) {
      rows.push_back({query.integer(0), query.integer(1), query.integer(2), query.integer(3),
                      query.integer(4), query.text(5)});
    }
    return rows;
  });
}

}  // namespace exprun
