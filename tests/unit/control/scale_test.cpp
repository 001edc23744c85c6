// A store of 10,000 runs with 10 series and 20 parameters each.
#include <doctest/doctest.h>
#include <time.h>

#include <algorithm>

#include "control/command/stored_runs.h"
#include "store/open.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

// Runs first..last as a bulk of rows: making each by create_run would take a minute of syncs.
void add_runs(const StoreFolder& folder, int first, int last) {
  const auto connection = open_store(folder.database(), Connection::Mode::read_write);
  connection->write("fill", Connection::Durability::written, [&] {
    SQLite::Database& database = connection->database();
    database.exec("CREATE TEMP TABLE n (i INTEGER PRIMARY KEY); CREATE TEMP TABLE ten (i INTEGER)");
    database.exec("WITH RECURSIVE c(i) AS (SELECT " + std::to_string(first) +
                  " UNION ALL SELECT i + 1 FROM c WHERE i < " + std::to_string(last) +
                  ") INSERT INTO n SELECT i FROM c");
    database.exec(
        "INSERT INTO ten VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);"
        "INSERT INTO run (id, uid, name, recipe_hash, seed, steps, folder, working_directory, "
        "command_line, data_fingerprint, started_ms, attempt) SELECT i, printf('%032x', i), "
        "'sweep', printf('%032x', i * 7), i, 10, printf('sweep-%08x', i), '/home/user/project', "
        "'exprun sweep', 'data', 1700000000000 + i * 1000, 1 FROM n;"
        "INSERT INTO attempt (run, attempt, from_step, last_step, state, started_ms, last_beat_ms, "
        "ended_ms, exit_code, host, boot_id, pid, pid_started) SELECT i, 1, 0, 10, 'finished', "
        "1700000000000 + i * 1000, 1700000060000 + i * 1000, 1700000060000 + i * 1000, 0, 'box', "
        "'boot', 1, 1 FROM n;"
        "INSERT INTO series (id, run, name, timing, count, last, last_step, min, min_step, max, "
        "max_step) SELECT n.i * 10 + t.i, n.i, CASE t.i WHEN 0 THEN 'val/loss' WHEN 1 THEN "
        "'train/loss' ELSE 'series_' || t.i END, 0, 10, n.i * 0.5, 10, n.i * 0.25, 9, n.i, 1 "
        "FROM n, ten AS t;"
        "INSERT INTO metric (series, step, value, time_ms) SELECT n.i * 10 + t.i, s.i + 1, "
        "n.i / (s.i + 1.0), s.i * 6000 FROM n, ten AS t, ten AS s;"
        "CREATE TEMP TABLE key AS SELECT t.i * 2 + u.i AS i FROM ten AS t, ten AS u WHERE u.i < 2;"
        "INSERT OR IGNORE INTO parameter_key (id, path) SELECT i, 'table.key_' || i FROM key;"
        "INSERT INTO parameter (run, key, toml, value, changed) SELECT n.i, key.i, "
        "iif(key.i = 3, n.i, 7), iif(key.i = 3, n.i, 7), key.i = 3 FROM n, key;"
        "DROP TABLE n; DROP TABLE ten; DROP TABLE key");
  });
}

int64_t bytes(const StoreFolder& folder) {
  return std::stoll(*Store(folder.database(), Store::Access::read_only)
                         .query("SELECT page_count * page_size FROM pragma_page_count, "
                                "pragma_page_size")
                         .rows[0][0]);
}

double processor_ms() {
  timespec now = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

// The processor's time of the quickest of some tries: the machine may have other work, and all is
// in its memory.
template <typename Body>
double milliseconds_of(Body&& body) {
  double least = 1e9;
  for (int i = 0; i < 7; ++i) {
    const double start = processor_ms();
    body();
    least = std::min(least, processor_ms() - start);
  }
  return least;
}

}  // namespace

TEST_CASE(
    "scale: 10,000 runs are listed, and each takes as many bytes as the first (prints how fast)" *
    doctest::test_suite("slow")) {
  const TemporaryFolder temporary;
  const StoreFolder folder{temporary.path(), "runs"};
  { const Store store(folder.database(), Store::Access::read_write); }
  const int64_t empty = bytes(folder);
  add_runs(folder, 1, 1'000);
  const int64_t thousand = bytes(folder) - empty;
  add_runs(folder, 1'001, 10'000);
  const int64_t ten_thousand = bytes(folder) - empty;
  MESSAGE(
      (ten_thousand / 10'000) << " bytes a run of 10 series with 10 values each and 20 parameters");
  CHECK(static_cast<double>(ten_thousand) < 10.5 * static_cast<double>(thousand));

  size_t shown = 0;
  const double ls = milliseconds_of([&] {
    const Store store = open_store(folder);
    shown = to_plain(ls_table(all_runs(store, folder, store.runs()), 1'800'000'000'000), {}).size();
  });
  MESSAGE("ls of 10,000 runs: " << ls << " ms");
  CHECK(shown > 1'000'000);
  const double report = milliseconds_of([&] {
    shown = to_plain(report_table(reported_runs(open_store(folder), folder, {})), {}).size();
  });
  MESSAGE("report of 10,000 runs with 20 parameters each: " << report << " ms");
  CHECK(shown > 500'000);
  const double best = milliseconds_of([&] { CHECK(open_store(folder).find_run("@best").id == 1); });
  MESSAGE("@best among 10,000 runs: " << best << " ms");
}

TEST_CASE("scale: a curve of 100,000 points is read (prints how fast)" *
          doctest::test_suite("slow")) {
  const TemporaryFolder temporary;
  const auto database = temporary.path() / "exprun.db";
  {
    const auto connection = open_store(database, Connection::Mode::read_write);
    connection->write("fill", Connection::Durability::written, [&] {
      connection->database().exec(
          "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000) "
          "INSERT INTO metric (series, step, value, time_ms) SELECT 7, i, 1.0 / i, i FROM c");
    });
  }
  size_t points = 0;
  const double least = milliseconds_of(
      [&] { points = Store(database, Store::Access::read_only).metrics(7).size(); });
  MESSAGE("a curve of 100,000 points: " << least << " ms");
  CHECK(points == 100'000);
}
