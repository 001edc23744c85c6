// Stores of older and newer formats.
#include <doctest/doctest.h>
#include <unistd.h>

#include <stdexcept>

#include "store/database/connection.h"
#include "store/database/open.h"
#include "tests/unit/store/children.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

const Migrations kTwoFormats = {
    {"0001", "CREATE TABLE run (id INTEGER PRIMARY KEY) STRICT; INSERT INTO run VALUES (7)"},
    {"0002", "ALTER TABLE run ADD COLUMN name TEXT NOT NULL DEFAULT 'old'"}};
const Migrations kOneFormat = {kTwoFormats[0]};

int format_of(const std::filesystem::path& file) {
  Connection connection(file, Connection::Mode::read_only);
  return identify(connection).format;
}

}  // namespace

TEST_CASE("store: an older format is migrated after a copy") {
  const DatabaseFolder folder;
  { open_store(folder.database(), Connection::Mode::read_write, kOneFormat); }
  CHECK(format_of(folder.database()) == 1);
  {
    const auto connection =
        open_store(folder.database(), Connection::Mode::read_write, kTwoFormats);
    Query query(*connection, "SELECT id || name FROM run");
    REQUIRE(query.step());
    CHECK(query.text(0) == "7old");
  }
  CHECK(format_of(folder.database()) == 2);
  CHECK(format_of(folder.database().string() + ".format-1") == 1);
}

TEST_CASE("store: a migration that fails leaves the older format whole") {
  const DatabaseFolder folder;
  { open_store(folder.database(), Connection::Mode::read_write, kOneFormat); }
  const Migrations wrong = {kOneFormat[0], {"0002", "CREATE TABLE a (b INTEGER); SELECT nonsense"}};
  CHECK_THROWS_AS(open_store(folder.database(), Connection::Mode::read_write, wrong), Error);
  CHECK(format_of(folder.database()) == 1);
  const auto connection = open_store(folder.database(), Connection::Mode::read_write, kOneFormat);
  CHECK(connection->database().execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 1);
}

TEST_CASE("store: a reader brings an older format up to date, after a copy") {
  const DatabaseFolder folder;
  { open_store(folder.database(), Connection::Mode::read_write, kOneFormat); }
  const auto connection = open_store(folder.database(), Connection::Mode::read_only, kTwoFormats);
  CHECK(connection->database().execAndGet("SELECT name FROM run").getString() == "old");
  CHECK(connection->mode() == Connection::Mode::read_only);
  CHECK(format_of(folder.database().string() + ".format-1") == 1);
}

TEST_CASE("store: a reader that may not write says what an older format needs") {
  if (::geteuid() != 0) return;  // only root can become somebody who may not write
  const DatabaseFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  { open_store(folder.database(), Connection::Mode::read_write, kOneFormat); }
  const int failed = failures_of_children(1, [&](int) {
    if (::setuid(65534) != 0) throw std::runtime_error("cannot become nobody");
    const std::string name = folder.database().string();
    const std::string wanted =
        "store: cannot read '" + name +
        "': its format is older (1, not 2) and could not be brought up to date: store: cannot "
        "prepare '" +
        name + "': file: cannot open the lock file '" + name + ".lock': Permission denied";
    try {
      open_store(folder.database(), Connection::Mode::read_only, kTwoFormats);
    } catch (const Error& error) {
      if (std::string(error.what()).starts_with(wanted)) return;
      throw;
    }
    throw std::runtime_error("it was opened");
  });
  CHECK(failed == 0);
}

TEST_CASE("store: a newer format can be read, and says why it cannot be written") {
  const DatabaseFolder folder;
  { open_store(folder.database(), Connection::Mode::read_write, kTwoFormats); }
  for (const auto mode : {Connection::Mode::read_only, Connection::Mode::read_write}) {
    const auto connection = open_store(folder.database(), mode, kOneFormat);
    CHECK(connection->database().execAndGet("SELECT id FROM run").getInt() == 7);
    CHECK_THROWS_WITH_AS(
        connection->write("record the run in", Connection::Durability::written, [] {}),
        ("store: cannot record the run in '" + folder.database().string() +
         "': it was written by a newer exprun (format 2, this one knows 1); update exprun")
            .c_str(),
        Error);
  }
  CHECK(format_of(folder.database()) == 2);
}

TEST_CASE("store: twenty processes that open a new or an older store at once make it once") {
  const DatabaseFolder folder;
  const auto run = [&](int i) {
    Store store(folder.database(), Store::Access::read_write);
    store.create_run(new_run(std::to_string(100 + i)));
  };
  CHECK(failures_of_children(20, run) == 0);
  CHECK(Store(folder.database(), Store::Access::read_only).runs().size() == 20);

  const auto older = folder.path() / "older.db";
  { open_store(older, Connection::Mode::read_write, kOneFormat); }
  CHECK(failures_of_children(
            20, [&](int) { open_store(older, Connection::Mode::read_write, kTwoFormats); }) == 0);
  CHECK(format_of(older) == 2);
}
