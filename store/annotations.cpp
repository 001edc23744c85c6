#include "store/annotations.h"

#include "base/clock.h"
#include "store/attempts.h"
#include "store/database/connection.h"
#include "store/store.h"

namespace exprun {

void Store::add_note(int64_t run, const std::string& text) {
  connection_->write("note something in", Connection::Durability::written, [&] {
    Query(*connection_, "INSERT INTO note (run, time_ms, text) VALUES (?, ?, ?)", run, now_ms(),
          text)
        .run();
  });
}

std::vector<NoteRow> Store::notes(int64_t run) const {
  return connection_->guarded("read", [&] {
    return Query(*connection_, "SELECT time_ms, text FROM note WHERE run = ? ORDER BY id", run)
        .rows([](Query& row) {
          return NoteRow{row.integer(0), row.text(1)};
        });
  });
}

bool insert_tag(Connection& connection, int64_t run, const std::string& name) {
  return Query(connection, "INSERT OR IGNORE INTO tag (run, name) VALUES (?, ?)", run, name)
             .run() == 1;
}

void Store::add_tag(int64_t run, const std::string& name) {
  connection_->write("tag a run in", Connection::Durability::written, [&] {
    if (insert_tag(*connection_, run, name))
      insert_event(*connection_, {run, 0, "info", kTagEvent, name});
  });
}

bool Store::remove_tag(int64_t run, const std::string& name) {
  return connection_->write("remove a tag from", Connection::Durability::written, [&] {
    if (Query(*connection_, "DELETE FROM tag WHERE run = ? AND name = ?", run, name).run() == 0)
      return false;
    insert_event(*connection_, {run, 0, "info", kUntagEvent, name});
    return true;
  });
}

std::vector<std::string> Store::tags(int64_t run) const {
  return connection_->guarded("read", [&] {
    return Query(*connection_, "SELECT name FROM tag WHERE run = ? ORDER BY name", run).texts();
  });
}

}  // namespace exprun
