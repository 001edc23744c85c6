// What may lie at the path of a store, and what is said about it.
#include "store/database/open.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "store/database/connection.h"
#include "tests/unit/store/children.h"
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

}  // namespace

TEST_CASE("store: the folder and the file are made when missing") {
  const DatabaseFolder folder;
  const auto file = folder.path() / "deep" / "runs" / "exprun.db";
  { const Store store(file, Store::Access::read_write); }
  const Store again(file, Store::Access::read_only);
  CHECK(value_of(again, "PRAGMA user_version") == std::to_string(embedded_migrations().size()));
  CHECK(again.runs().empty());
  CHECK(again.file() == file);
}

TEST_CASE("store: settings are those of FORMAT.md") {
  const DatabaseFolder folder;
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
  const DatabaseFolder folder;
  const std::string text = "store: cannot read '" + folder.database().string() +
                           "': there is no store yet; a first run makes one, --store names "
                           "another place";
  CHECK(failure(folder.database(), Store::Access::read_only) == text);
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("store: of an empty file it is said that runs may be lost") {
  const DatabaseFolder folder;
  std::ofstream(folder.database()).close();
  CHECK(
      failure(folder.database(), Store::Access::read_only) ==
      "store: cannot read '" + folder.database().string() +
          "': it is empty: if it had runs, restore it from a copy; otherwise the next run makes a "
          "store of it");
}

TEST_CASE("store: a folder in the place of the file is refused") {
  const DatabaseFolder folder;
  std::filesystem::create_directory(folder.database());
  for (const auto access : {Store::Access::read_only, Store::Access::read_write}) {
    CHECK(failure(folder.database(), access) ==
          "store: cannot open '" + folder.database().string() +
              "': it is not a file; choose another place with --store");
  }
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("store: a file that is no database is refused and left as it is") {
  const DatabaseFolder folder;
  const std::string text(5000, 'x');
  write_text(folder.database(), text);
  for (const auto access : {Store::Access::read_only, Store::Access::read_write}) {
    CHECK(failure(folder.database(), access) ==
          "store: cannot open '" + folder.database().string() +
              "': it is not a SQLite database; move it away, or choose another place with "
              "--store");
  }
  CHECK(read_text(folder.database()) == text);
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("store: a database of another program is refused and left as it is") {
  const DatabaseFolder folder;
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
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("store: a damaged file is an error that names it, never a crash") {
  const DatabaseFolder folder;
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

TEST_CASE("store: a reader cannot write") {
  const DatabaseFolder folder;
  { const Store store(folder.database(), Store::Access::read_write); }
  Store store(folder.database(), Store::Access::read_only);
  CHECK_THROWS_WITH_AS(store.create_run(new_run("1a")),
                       ("store: cannot record the run in '" + folder.database().string() +
                        "': it was opened for reading only")
                           .c_str(),
                       Error);
}

TEST_CASE("store: a reader sees what a living writer has committed, and leaves its WAL alone") {
  const DatabaseFolder folder;
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
  const DatabaseFolder folder;
  {
    Store store(folder.database(), Store::Access::read_write);
    store.create_run(new_run("1a"));
  }
  CHECK(!std::filesystem::exists(folder.database().string() + "-wal"));
  CHECK(files_in(folder.path()) == 2);  // the database and its lock
}

TEST_CASE("store: the WAL stays short while a writer lives") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  NewRun run = new_run("1a");
  for (int i = 0; i < 60; ++i) {
    run.uid = new_run(std::to_string(100 + i)).uid;
    run.recipe_json = std::to_string(i) + std::string(300'000, 'x');
    store.create_run(run);
  }
  CHECK(std::filesystem::file_size(folder.database().string() + "-wal") < 10'000'000);
}

TEST_CASE("store: a folder that cannot be written to is an error; reading from it works") {
  if (::geteuid() != 0) return;  // only root can become somebody who may not write
  const DatabaseFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
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
  const DatabaseFolder folder;
  const auto connection = open_store(folder.database(), Connection::Mode::read_write);
  connection->set_patience(std::chrono::seconds(1));
  const auto stopped = FileLock::take(folder.database().string() + ".lock");
  CHECK_THROWS_WITH_AS(connection->write("record the run in", Connection::Durability::written,
                                         [] { FAIL("wrote"); }),
                       ("store: cannot record the run in '" + folder.database().string() +
                        "': other processes have locked exprun.db.lock for 1 s; look for a stopped "
                        "process (lslocks)")
                           .c_str(),
                       Error);
  CHECK(Store(folder.database(), Store::Access::read_only).runs().empty());  // readers go on
}
