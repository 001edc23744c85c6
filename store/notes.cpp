// Notes: what a person has to say about a run.
#include "base/clock.h"
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

}  // namespace exprun
