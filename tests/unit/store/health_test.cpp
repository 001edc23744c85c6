// What doctor says of a store.
#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>

#include "store/metrics/metric_writer.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

void write_values(const DatabaseFolder& folder, int64_t run) {
  MetricWriter writer(folder.database(), run);
  const auto loss = writer.series("train/loss", false);
  for (int64_t step = 1; step <= 30; ++step) {
    const MetricWriter::Point point{loss, 1.0};
    writer.push(step, {&point, 1});
  }
}

// What health says of the values after the store was changed by hand.
std::string values_after(const DatabaseFolder& folder, const std::string& sql) {
  SQLite::Database(folder.database().string(), SQLite::OPEN_READWRITE).exec(sql);
  for (const auto& [name, value] : Store(folder.database(), Store::Access::read_only).health())
    if (name == "values") return value;
  return "";
}

}  // namespace

TEST_CASE("store: health tells versions and integrity") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  store.create_run(new_run("1a"));
  std::string text;
  for (const auto& [name, value] : store.health()) text += name + "=" + value + ";";
  CHECK(text.find("format=1;file_system=local;journal_mode=wal;") != std::string::npos);
  CHECK(text.find(";runs=1;removed_runs=0;recorded_as_running=1;") != std::string::npos);
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

TEST_CASE("store: health finds values without their series, and series with wrong counts") {
  const DatabaseFolder folder;
  {
    Store store(folder.database(), Store::Access::read_write);
    store.create_run(new_run("1a"));
    write_values(folder, store.create_run(new_run("2b")));
  }
  CHECK(values_after(folder, "SELECT 1") == "ok");
  CHECK(
      values_after(folder, "UPDATE series SET count = count + 1") ==
      "1 series have a wrong count of values, the first in run 2; if a merge was interrupted, run "
      "exprun merge again");
  CHECK(values_after(folder,
                     "UPDATE series SET count = count - 1; INSERT INTO metric (series, step, "
                     "value, time_ms) VALUES (77, 1, 1.0, 1)")
            .starts_with("values in metric of 1 missing series"));
}
