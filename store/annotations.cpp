#include "store/annotations.h"

#include "base/clock.h"
#include "store/attempts.h"
#include "store/store_impl.h"

namespace exprun {

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

bool insert_tag(Connection& connection, int64_t run, const std::string& name) {
  return Query(connection, "INSERT OR IGNORE INTO tag (run, name) VALUES (?, ?)", run, name)
             .run() == 1;
}

void Store::add_tag(int64_t run, const std::string& name) {
  Connection& connection = *impl_->connection;
  connection.write("tag a run in", Connection::Durability::written, [&] {
    if (insert_tag(connection, run, name))
      insert_event(connection, {run, 0, "info", kTagEvent, name});
  });
}

bool Store::remove_tag(int64_t run, const std::string& name) {
  Connection& connection = *impl_->connection;
  return connection.write("remove a tag from", Connection::Durability::written, [&] {
    if (Query(connection, "DELETE FROM tag WHERE run = ? AND name = ?", run, name).run() == 0)
      return false;
    insert_event(connection, {run, 0, "info", kUntagEvent, name});
    return true;
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

}  // namespace exprun
