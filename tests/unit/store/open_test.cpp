// What may lie at the path of a store, and what is said about it.
#include "store/open.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "store/query.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string failure(const std::filesystem::path& file, Store::Access access) {
  try {
    const Store store(file, access);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::store_error);
    return error.what();
  }
  return "no error";
}

size_t files_in(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// Runs `body` in `count` children at once; the number of them that failed.
template <typename Body>
int failures_of_children(int count, Body&& body) {
  int gate[2];
  REQUIRE(::pipe(gate) == 0);
  for (int i = 0; i < count; ++i) {
    if (::fork() != 0) continue;
    ::close(gate[1]);
    char byte = 0;
    if (::read(gate[0], &byte, 1) != 0) ::_exit(2);
    int result = 1;
    try {
      body(i);
      result = 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
    }
    ::_exit(result);
  }
  ::close(gate[0]);
  ::close(gate[1]);  // go
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    int status = 0;
    ::wait(&status);
    failures += status != 0;
  }
  return failures;
}

const Migrations kTwoFormats = {
    {"0001", "CREATE TABLE run (id INTEGER PRIMARY KEY) STRICT; INSERT INTO run VALUES (7)"},
    {"0002", "ALTER TABLE run ADD COLUMN name TEXT NOT NULL DEFAULT 'old'"}};
const Migrations kOneFormat = {kTwoFormats[0]};

int format_of(const std::filesystem::path& file) {
  Connection connection(file, Connection::Mode::read_only);
  return identify(connection).format;
}

}  // namespace

TEST_CASE("store: the folder and the file are made when missing") {
  const TemporaryFolder folder;
  const auto file = folder.path / "deep" / "runs" / "exprun.db";
  { const Store store(file, Store::Access::read_write); }
  CHECK(format_of(file) == static_cast<int>(embedded_migrations().size()));
  const Store again(file, Store::Access::read_only);
  CHECK(again.runs().empty());
  CHECK(again.file() == file);
}

TEST_CASE("store: settings are those of FORMAT.md") {
  const TemporaryFolder folder;
  const auto connection = open_store(folder.database(), Connection::Mode::read_write);
  const auto setting = [&](const char* name) {
    return connection->database().execAndGet(std::string("PRAGMA ") + name).getString();
  };
  CHECK(setting("journal_mode") == "wal");
  CHECK(setting("synchronous") == "1");
  CHECK(setting("foreign_keys") == "1");
  CHECK(setting("trusted_schema") == "0");
  CHECK(setting("wal_autocheckpoint") == "0");
  CHECK(setting("auto_vacuum") == "2");
  CHECK(setting("application_id") == "1702392430");
}

TEST_CASE("store: reading a store that is not there says how to get one") {
  const TemporaryFolder folder;
  const std::string text = "store: cannot read '" + folder.database().string() +
                           "': there is no store yet; a first run makes one, --store names "
                           "another place";
  CHECK(failure(folder.database(), Store::Access::read_only) == text);
  CHECK(files_in(folder.path) == 0);
}

TEST_CASE("store: a folder in the place of the file is refused") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.database());
  for (const auto access : {Store::Access::read_only, Store::Access::read_write}) {
    CHECK(failure(folder.database(), access) ==
          "store: cannot open '" + folder.database().string() +
              "': it is not a file; choose another place with --store");
  }
  CHECK(files_in(folder.path) == 1);
}

TEST_CASE("store: a file that is no database is refused and left as it is") {
  const TemporaryFolder folder;
  const std::string text(5000, 'x');
  write_text(folder.database(), text);
  for (const auto access : {Store::Access::read_only, Store::Access::read_write}) {
    CHECK(failure(folder.database(), access) ==
          "store: cannot open '" + folder.database().string() +
              "': it is not a SQLite database; move it away, or choose another place with "
              "--store");
  }
  CHECK(read_text(folder.database()) == text);
  CHECK(files_in(folder.path) == 1);
}

TEST_CASE("store: a database of another program is refused and left as it is") {
  const TemporaryFolder folder;
  {
    SQLite::Database other(folder.database().string(),
                           SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE experiments (id INTEGER)");
  }
  const std::string before = read_text(folder.database());
  for (const auto access : {Store::Access::read_only, Store::Access::read_write}) {
    CHECK(failure(folder.database(), access) ==
          "store: cannot open '" + folder.database().string() +
              "': it is a SQLite database of another program; move it away, or choose another "
              "place with --store");
  }
  CHECK(read_text(folder.database()) == before);
  CHECK(files_in(folder.path) == 1);
}

TEST_CASE("store: a damaged file is an error that names it, never a crash") {
  const TemporaryFolder folder;
  {
    Store store(folder.database(), Store::Access::read_write);
    for (int i = 10; i < 60; ++i) store.create_run(new_run(std::to_string(i)));
  }
  std::string bytes = read_text(folder.database());
  for (size_t i = 4096 + 100; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  write_text(folder.database(), bytes);
  try {
    Store store(folder.database(), Store::Access::read_only);
    store.runs();
    FAIL("a damaged store was read");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::store_error);
    CHECK(std::string(error.what()).find(folder.database().string() + "': it is damaged (") !=
          std::string::npos);
  }
}

TEST_CASE("store: an older format is migrated after a copy") {
  const TemporaryFolder folder;
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
  const TemporaryFolder folder;
  { open_store(folder.database(), Connection::Mode::read_write, kOneFormat); }
  const Migrations wrong = {kOneFormat[0], {"0002", "CREATE TABLE a (b INTEGER); SELECT nonsense"}};
  CHECK_THROWS_AS(open_store(folder.database(), Connection::Mode::read_write, wrong), Error);
  CHECK(format_of(folder.database()) == 1);
  const auto connection = open_store(folder.database(), Connection::Mode::read_write, kOneFormat);
  CHECK(connection->database().execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 1);
}

TEST_CASE("store: a reader brings an older format up to date, after a copy") {
  const TemporaryFolder folder;
  { open_store(folder.database(), Connection::Mode::read_write, kOneFormat); }
  const auto connection = open_store(folder.database(), Connection::Mode::read_only, kTwoFormats);
  CHECK(connection->database().execAndGet("SELECT name FROM run").getString() == "old");
  CHECK(connection->mode() == Connection::Mode::read_only);
  CHECK(format_of(folder.database().string() + ".format-1") == 1);
}

TEST_CASE("store: a reader that may not write says what an older format needs") {
  if (::geteuid() != 0) return;  // only root can become somebody who may not write
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path, std::filesystem::perms(0755));
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
  const TemporaryFolder folder;
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

TEST_CASE("store: a reader cannot write") {
  const TemporaryFolder folder;
  { const Store store(folder.database(), Store::Access::read_write); }
  Store store(folder.database(), Store::Access::read_only);
  CHECK_THROWS_WITH_AS(store.create_run(new_run("1a")),
                       ("store: cannot record the run in '" + folder.database().string() +
                        "': it was opened for reading only")
                           .c_str(),
                       Error);
}

TEST_CASE("store: a reader sees what a living writer has committed, and leaves its WAL alone") {
  const TemporaryFolder folder;
  Store writer(folder.database(), Store::Access::read_write);
  writer.create_run(new_run("1a"));
  const auto wal = folder.database().string() + "-wal";
  const auto size = std::filesystem::file_size(wal);
  REQUIRE(size > 0);
  {
    const Store reader(folder.database(), Store::Access::read_only);
    CHECK(reader.runs().size() == 1);
    writer.create_run(new_run("2b"));
    CHECK(reader.runs().size() == 2);
  }
  CHECK(std::filesystem::file_size(wal) > size);
}

TEST_CASE("store: the last writer leaves one file, without a WAL") {
  const TemporaryFolder folder;
  {
    Store store(folder.database(), Store::Access::read_write);
    store.create_run(new_run("1a"));
  }
  CHECK(!std::filesystem::exists(folder.database().string() + "-wal"));
  CHECK(files_in(folder.path) == 2);  // the database and its lock
}

TEST_CASE("store: the WAL stays short while a writer lives") {
  const TemporaryFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  NewRun run = new_run("1a");
  for (int i = 0; i < 60; ++i) {
    run.uid = new_run(std::to_string(100 + i)).uid;
    run.recipe_json = std::to_string(i) + std::string(300'000, 'x');
    store.create_run(run);
  }
  CHECK(std::filesystem::file_size(folder.database().string() + "-wal") < 10'000'000);
}

TEST_CASE("store: twenty processes that open a new or an older store at once make it once") {
  const TemporaryFolder folder;
  const auto run = [&](int i) {
    Store store(folder.database(), Store::Access::read_write);
    store.create_run(new_run(std::to_string(100 + i)));
  };
  CHECK(failures_of_children(20, run) == 0);
  CHECK(Store(folder.database(), Store::Access::read_only).runs().size() == 20);

  const auto older = folder.path / "older.db";
  { open_store(older, Connection::Mode::read_write, kOneFormat); }
  CHECK(failures_of_children(
            20, [&](int) { open_store(older, Connection::Mode::read_write, kTwoFormats); }) == 0);
  CHECK(format_of(older) == 2);
}

TEST_CASE("store: a folder that cannot be written to is an error; reading from it works") {
  if (::geteuid() != 0) return;  // only root can become somebody who may not write
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path, std::filesystem::perms(0755));
  {
    Store store(folder.database(), Store::Access::read_write);
    store.create_run(new_run("1a"));
  }
  const int failed = failures_of_children(1, [&](int) {
    if (::setuid(65534) != 0) throw std::runtime_error("cannot become nobody");
    if (Store(folder.database(), Store::Access::read_only).runs().size() != 1) {
      throw std::runtime_error("the run was not read");
    }
    const std::string text = failure(folder.database(), Store::Access::read_write);
    const std::string wanted =
        "store: cannot write to the folder of '" + folder.database().string() +
        "': Permission denied; check its permissions, or choose another place with --store";
    if (text != wanted) throw std::runtime_error(text);
  });
  CHECK(failed == 0);
}

TEST_CASE("store: a lock that is not given back is named, and nothing is written") {
  const TemporaryFolder folder;
  const auto connection = open_store(folder.database(), Connection::Mode::read_write);
  connection->set_patience(std::chrono::seconds(1));
  const auto stopped = FileLock::take(folder.database().string() + ".lock");
  CHECK_THROWS_WITH_AS(
      connection->write("record the run in", Connection::Durability::written,
                        [] { FAIL("wrote"); }),
      ("store: cannot record the run in '" + folder.database().string() +
       "': others have held exprun.db.lock for 1 s; look for a stopped process (lslocks)")
          .c_str(),
      Error);
  CHECK(Store(folder.database(), Store::Access::read_only).runs().empty());  // readers go on
}

TEST_CASE("store: health tells versions and integrity") {
  const TemporaryFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  store.create_run(new_run("1a"));
  std::string text;
  for (const auto& [name, value] : store.health()) text += name + "=" + value + ";";
  CHECK(text.find("format=3;file system=local;journal mode=wal;") != std::string::npos);
  CHECK(text.find(";runs=1;removed runs=0;recorded as running=1;") != std::string::npos);
  CHECK(text.find("integrity=ok;") != std::string::npos);
}

TEST_CASE("store: health finds a state that no run can have") {
  const TemporaryFolder folder;
  { Store(folder.database(), Store::Access::read_write).create_run(new_run("1a")); }
  {
    SQLite::Database other(folder.database().string(), SQLite::OPEN_READWRITE);
    other.exec("PRAGMA ignore_check_constraints = ON; UPDATE attempt SET state = 'lost'");
  }
  const Store store(folder.database(), Store::Access::read_only);
  CHECK(store.health().back().second ==
        "1 attempts that neither run nor have ended in a known state");
}

TEST_CASE("store: on a network file system it is kept without a write-ahead log") {
  const TemporaryFolder folder;
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
                  std::pair<std::string, std::string>("journal mode", "wal")) != health.end());
  CHECK(value_of(store, "PRAGMA integrity_check") == "ok");
}
