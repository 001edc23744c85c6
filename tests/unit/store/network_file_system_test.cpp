// A store where shared memory is not to be relied on.
#include <doctest/doctest.h>

#include <algorithm>

#include "store/database/connection.h"
#include "store/database/open.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

TEST_CASE("store: on a network file system it is kept without a write-ahead log") {
  const DatabaseFolder folder;
  { Store(folder.database(), Store::Access::read_write).create_run(new_run("1a")); }
  {
    const auto connection = open_store(folder.database(), Connection::Mode::read_write,
                                       embedded_migrations(), "delete");
    CHECK(connection->database().execAndGet("PRAGMA journal_mode").getString() == "delete");
    connection->write("write to", Connection::Durability::written, [&] {
      Query(*connection, "INSERT INTO note (run, time_ms, text) VALUES (1, 2, 'kept')").run();
    });
    CHECK(connection->database().execAndGet("PRAGMA synchronous").getInt() == 2);
    CHECK(!std::filesystem::exists(folder.database().string() + "-wal"));
  }
  const Store store(folder.database(), Store::Access::read_write);  // back on a local disk
  CHECK(store.notes(1).at(0).text == "kept");
  const auto health = store.health();
  CHECK(std::find(health.begin(), health.end(),
                  std::pair<std::string, std::string>("journal_mode", "wal")) != health.end());
  CHECK(value_of(store, "PRAGMA integrity_check") == "ok");
}
