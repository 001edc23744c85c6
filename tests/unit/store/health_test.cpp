// What doctor says of a store.
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "tests/unit/store/store_fixture.h"

using namespace exprun;

TEST_CASE("store: health tells versions and integrity") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  store.create_run(new_run("1a"));
  std::string text;
  for (const auto& [name, value] : store.health()) text += name + "=" + value + ";";
  CHECK(text.find("format=3;file system=local;journal mode=wal;") != std::string::npos);
  CHECK(text.find(";runs=1;removed runs=0;recorded as running=1;") != std::string::npos);
  CHECK(text.find("integrity=ok;") != std::string::npos);
}

TEST_CASE("store: health finds a state that no run can have") {
  const DatabaseFolder folder;
  { Store(folder.database(), Store::Access::read_write).create_run(new_run("1a")); }
  {
    SQLite::Database other(folder.database().string(), SQLite::OPEN_READWRITE);
    other.exec("PRAGMA ignore_check_constraints = ON; UPDATE attempt SET state = 'lost'");
  }
  const Store store(folder.database(), Store::Access::read_only);
  CHECK(store.health().back().second ==
        "1 attempts that neither run nor have ended in a known state");
}
