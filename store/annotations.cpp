#include "store/annotations.h"

#include "base/clock.h"
#include "store/store_impl.h"

namespace exprun {

// Notes: what a person has to say about a run.

void Store::add_note(int64_t run, const std::string& text) {
  Connection& connection = *impl_->connection;
  connection.write("note something in", Connection::Durability::written, [&] {
    Query(connection, "INSERT INTO note (run, time_ms, text) VALUES (?, ?, ?)", run, now_ms(), text)
        .run();
  });
}

std::vector<NoteRow> Store::notes(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::vector<NoteRow> rows;
    Query query(connection, "SELECT time_ms, text FROM note WHERE run = ? ORDER BY id", run);
    while (query.step()) rows.push_back({query.integer(0), query.text(1)});
    return rows;
  });
}

void insert_tag(Connection& connection, int64_t run, const std::string& name) {
  Query(connection, "INSERT OR IGNORE INTO tag (run, name) VALUES (?, ?)", run, name).run();
}

void Store::add_tag(int64_t run, const std::string& name) {
  Connection& connection = *impl_->connection;
  connection.write("tag a run in", Connection::Durability::written,
                   [&] { insert_tag(connection, run, name); });
}

bool Store::remove_tag(int64_t run, const std::string& name) {
  Connection& connection = *impl_->connection;
  return connection.write("remove a tag from", Connection::Durability::written, [&] {
    return Query(connection, "DELETE FROM tag WHERE run = ? AND name = ?", run, name).run() == 1;
  });
}

std::vector<std::string> Store::tags(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::vector<std::string> names;
    Query query(connection, "SELECT name FROM tag WHERE run = ? ORDER BY name", run);
    while (query.step()) names.push_back(query.text(0));
    return names;
  });
}

// Events: what happened to a run, for people.

void Store::record_event(const EventRow& event) {
  Connection& connection = *impl_->connection;
  connection.write("record an event in", Connection::Durability::written, [&] {
    Query(connection,
          "INSERT INTO event (run, attempt, time_ms, level, kind, text) "
          "SELECT id, attempt, ?, ?, ?, ? FROM run WHERE id = ?",
          event.time_ms != 0 ? event.time_ms : now_ms(), event.level, event.kind, event.text,
          event.run)
        .run();
  });
}

std::vector<EventRow> Store::events(int64_t run) const {
  Connection& connection = *impl_->connection;
  return connection.guarded("read", [&] {
    std::vector<EventRow> rows;
    Query query(connection,
                "SELECT run, time_ms, level, kind, text, attempt FROM event WHERE run = ? "
                "ORDER BY id",
                run);
    while (query.step()) {
      rows.push_back({query.integer(0), query.integer(1), query.text(2), query.text(3),
                      query.text(4), query.integer(5)});
    }
    return rows;
  });
}

// Checkpoints: the row comes after the folder, so a row means a checkpoint that can be used.

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
