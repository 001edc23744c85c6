// Events: what happened to a run, for people.
#include "base/clock.h"
#include "store/store_impl.h"

namespace exprun {

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

}  // namespace exprun
