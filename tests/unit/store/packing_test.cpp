// Packed values: read as before, whatever happens.
#include "store/packing.h"

#include <doctest/doctest.h>

#include <cmath>

#include "store/metric_batch.h"
#include "store/metric_writer.h"
#include "store/open.h"
#include "store/points.h"
#include "tests/unit/store/packed_runs.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

// Of the pages in use.
double bytes_in_use(const Store& store) {
  return std::stod(value_of(store,
                            "SELECT (page_count - freelist_count) * page_size FROM "
                            "pragma_page_count, pragma_freelist_count, pragma_page_size"));
}

}  // namespace

TEST_CASE("pack: every value is read as before, by the program and by SQL, and put back") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 500);
  ended_run(store, "2b", 31);
  const std::string before = everything(store);
  const std::string rows = all_of(store, "SELECT * FROM metric");
  CHECK(store.has_unpacked(id));
  CHECK(store.pack_run(id) == 432 + 432 + 108);
  CHECK(!store.has_unpacked(id));
  CHECK(store.pack_run(id) == 0);
  CHECK(rows_and_packs(store) == "266 rows, 9 packs");
  CHECK(value_of(store, "SELECT count(*) FROM packed_steps") == "5");  // two series share theirs
  CHECK(everything(store) == before);
  check_sound(store);
  CHECK(store.metrics(store.series(id).at(1).id, 498).size() == 2);
  CHECK(store.unpack_run(id) == 432 + 432 + 108);
  CHECK(rows_and_packs(store) == "1238 rows, 0 packs");
  CHECK(all_of(store, "SELECT * FROM metric") == rows);
  CHECK(everything(store) == before);
  check_sound(store);
}

TEST_CASE("pack: a store of the format before has its values, and can be packed") {
  const DatabaseFolder folder;
  const Migrations& all = embedded_migrations();
  {
    const auto older =
        open_store(folder.database(), Connection::Mode::read_write, {all.begin(), all.begin() + 2});
    older->write("fill", Connection::Durability::written, [&] {
      older->database().exec(
          "INSERT INTO run (id, uid, name, recipe_hash, seed, steps, folder, working_directory, "
          "command_line, data_fingerprint, started_ms, attempt) VALUES (7, 'u', 'old', 'h', 1, "
          "200, "
          "'old-u', '', '', '', 5, 1);"
          "INSERT INTO attempt (run, attempt, from_step, last_step, state, started_ms, "
          "last_beat_ms, "
          "ended_ms, host, boot_id, pid, pid_started) VALUES (7, 1, 0, 200, 'finished', 5, 6, 6, "
          "'box', 'b', 1, 1);"
          "INSERT INTO series (id, run, name, timing) VALUES (3, 7, 'loss', 0);"
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
          "INSERT INTO metric (series, step, value, time_ms) SELECT 3, i, i / 8.0, i * 2 FROM n");
    });
  }
  const char* const kSums =
      "SELECT count(*) || ' ' || sum(value) || ' ' || sum(seconds * 1000) FROM "
      "metrics WHERE run = 7 AND name = 'loss'";
  Store store(folder.database(), Store::Access::read_write);
  CHECK(value_of(store, kSums) == "200 2512.5 40200.0");
  CHECK(store.pack_run(7) == 108);
  CHECK(value_of(store, kSums) == "200 2512.5 40200.0");
  CHECK(std::filesystem::exists(folder.database().string() + ".format-2"));
}

TEST_CASE("pack: a run that runs, or is removed, is left alone") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t running = store.create_run(new_run("1a"));
  write_values(folder.database(), running, 1, 150);
  const int64_t removed = ended_run(store, "2b", 150);
  store.remove_run(removed);
  CHECK(store.pack_run(running) == 0);
  CHECK(store.pack_run(removed) == 0);
  CHECK(rows_and_packs(store) == "700 rows, 0 packs");
}

TEST_CASE("pack: a packed run goes on as one that was never packed") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const auto lives = [&](bool packed) {
    const int64_t id = store.create_run(new_run(packed ? "1a" : "2b"));
    for (const auto& [from, to] : {std::pair(0, 300), std::pair(250, 400), std::pair(400, 620)}) {
      if (from > 0) store.begin_attempt(id, from);
      write_values(folder.database(), id, from + 1, to);
      store.end_attempt(id, RunState::interrupted, 130, std::nullopt, "");
      if (packed) CHECK(store.pack_run(id) > 0);
    }
    return id;
  };
  const std::string packed = std::to_string(lives(true)), plain = std::to_string(lives(false));
  for (const char* sql :
       {"SELECT name, step, value FROM metrics WHERE run = ? ORDER BY 1, 2",
        "SELECT attempt, name, step, value FROM metrics_archived WHERE run = ? ORDER BY 1, 2, 3",
        "SELECT name, count, non_finite, first_non_finite_step, last, last_step, min, min_step, "
        "max, max_step FROM series WHERE run = ? ORDER BY 1"}) {
    const auto of = [&](std::string text, const std::string& run) {
      return all_of(store, text.replace(text.find('?'), 1, run));
    };
    CHECK(of(sql, packed) == of(sql, plain));
  }
  check_sound(store);
}

TEST_CASE("pack: what comes late, or twice, replaces the packed value") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 200);
  store.pack_run(id);
  {
    MetricWriter writer(folder.database(), id);
    const MetricWriter::Point point{writer.series("train/loss", false), 1e9};
    writer.push(150, {&point, 1});
  }
  CHECK(value_of(store,
                 "SELECT count(*) || ' ' || max(value) FROM metrics WHERE name = "
                 "'train/loss'") == "200 1000000000.0");
  CHECK(value_of(store,
                 "SELECT max || ' ' || max_step || ' ' || count FROM series WHERE name = "
                 "'train/loss'") == "1000000000.0 150 200");
  check_sound(store);
}

TEST_CASE("pack: what a late value needs unpacked is unpacked beforehand, and no more") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 250);
  store.pack_run(id);
  const std::string before = everything(store);
  const auto connection = open_store(folder.database(), Connection::Mode::read_write);
  const SeriesName names[] = {{"train/loss", false}, {"new", false}};
  const auto packs_beside = [&](int64_t step) {
    const MetricPoint points[] = {{step, 0, 1.0, 0}, {1, 0, 1.0, 1}};
    unpack_for_batch(*connection, id, 1, names, points);
    return value_of(store, "SELECT count(*) FROM packed_metric");
  };
  CHECK(packs_beside(251) == "4");
  CHECK(packs_beside(150) == "3");
  CHECK(packs_beside(1) == "2");
  CHECK(everything(store) == before);
}

TEST_CASE("pack: a purge takes packs along") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 250);
  CHECK(store.pack_run(id) == 4 * 108);
  store.remove_run(id);
  store.purge_run(id, [] {});
  for (const char* table : {"packed_metric", "packed_steps", "series", "run"})
    CHECK(value_of(store, std::string("SELECT count(*) FROM ") + table) == "0");
  check_sound(store);
}

TEST_CASE("pack: stores are merged whether their runs are packed or not") {
  for (const bool theirs : {true, false}) {
    for (const bool ours : {true, false}) {
      const DatabaseFolder here, there;
      Store store(here.database(), Store::Access::read_write);
      Store other(there.database(), Store::Access::read_write);
      const int64_t id = ended_run(other, "1a", 300);
      if (theirs) other.pack_run(id);
      CHECK(store.merge(there.database(), kNobodyRuns).added == 1);
      CHECK(everything(store) == everything(other));
      if (ours) store.pack_run(1);
      CHECK(store.merge(there.database(), kNobodyRuns).unchanged == 1);
      CHECK(store.has_unpacked(1) == !ours);
      other.begin_attempt(id, 120);
      write_values(there.database(), id, 121, 260);
      other.end_attempt(id, RunState::finished, 0, std::nullopt, "");
      if (theirs) other.pack_run(id);
      CHECK(store.merge(there.database(), kNobodyRuns).updated == 1);
      CHECK(everything(store) == everything(other));
      CHECK(other.merge(here.database(), kNobodyRuns).unchanged == 1);
      check_sound(store);
    }
  }
}

void damage(const Store& store, const std::string& sql) {
  const auto connection = open_store(store.file(), Connection::Mode::read_write);
  connection->write("damage", Connection::Durability::written,
                    [&] { connection->database().exec(sql); });
}

TEST_CASE("pack: what is wrong of values is found, and mended: of doubled ones the row stays") {
  const std::pair<const char*, const char*> kDamages[] = {
      {"INSERT INTO metric (series, step, value, time_ms) "
       "SELECT series, step, value, time_ms FROM points WHERE packed AND step IN (7, 108, 200);"
       "UPDATE series SET count = count + 3 WHERE run = 2 AND name <> 'val/loss'",
       "2 series with rows that do not come after their packs, first of run 2"},
      {"UPDATE series SET count = count + 1, min = -9 WHERE name = 'val/loss' AND run = 2",
       "1 series whose count is not that of their values, first of run 2"},
      {"CREATE TEMP TABLE copy AS SELECT * FROM packed_metric WHERE first_step = 1;"
       "UPDATE temp.copy SET first_step = 60; INSERT INTO packed_metric SELECT * FROM temp.copy",
       "2 packs whose first step is not that of their steps, first of run 2"},
      {"CREATE TEMP TABLE copy AS SELECT * FROM packed_steps; UPDATE temp.copy SET s0 = s0 + 4, s1 "
       "= s0 + 5, s2 = s0 + 5, id = id + 10; INSERT INTO packed_steps SELECT * FROM temp.copy;"
       "CREATE TEMP TABLE more AS SELECT * FROM packed_metric; UPDATE temp.more SET first_step = "
       "first_step + 4, steps = steps + 10; INSERT INTO packed_metric SELECT * FROM temp.more",
       "4 packs that reach into the next, first of run 2"}};
  for (const auto& [sql, found] : kDamages) {
    CAPTURE(std::string(found));
    const DatabaseFolder folder;
    Store store(folder.database(), Store::Access::read_write);
    ended_run(store, "2b", 10);
    const int64_t id = ended_run(store, "1a", 250);
    const std::string before = everything(store);
    store.pack_run(id);
    damage(store, sql);
    CHECK(values_health(store) ==
          std::string(found) +
              ": exprun gc --unpack 2 mends it, and what a merge left unfinished, to merge again");
    store.unpack_run(id);
    CHECK(values_health(store) == "ok");
    check_sound(store);
    if (std::string(sql).find("TEMP") == std::string::npos) CHECK(everything(store) == before);
  }
}

TEST_CASE("pack: values without their series are found") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  ended_run(store, "1a", 30);
  damage(store, "INSERT INTO metric (series, step, value, time_ms) VALUES (77, 1, 1.0, 1)");
  CHECK(values_health(store).starts_with("values in metric of 1 series that are not there"));
}

TEST_CASE("pack: the views hand a condition on a step down to the key, in the order of steps") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 250);
  store.pack_run(id);
  const std::string of = "FROM metrics WHERE run = 1 AND name = 'train/loss'";
  CHECK(all_of(store, "EXPLAIN QUERY PLAN SELECT value " + of + " AND step = 15")
            .find("SEARCH m USING PRIMARY KEY (series=? AND step=?)") != std::string::npos);
  CHECK(all_of(store, "SELECT step " + of) == all_of(store, "SELECT step " + of + " ORDER BY 1"));
}

TEST_CASE("pack: bytes of a value before and after") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  constexpr int kSeries = 15, kSteps = 4'000;
  const double without = bytes_in_use(store);
  {
    MetricWriter writer(folder.database(), id);
    std::vector<MetricWriter::Point> points;
    for (int i = 0; i < kSeries; ++i)
      points.push_back({writer.series("series_" + std::to_string(i), false), 0.0});
    for (int64_t step = 1; step <= kSteps; ++step) {
      for (auto& point : points) point.value = std::sin(static_cast<double>(step) + point.series);
      writer.push(step, points);
    }
  }
  store.end_attempt(id, RunState::finished, 0, std::nullopt, "");
  const double with_rows = bytes_in_use(store);
  store.pack_run(id);
  const double with_packs = bytes_in_use(store);
  const double rows = (with_rows - without) / (kSeries * kSteps);
  const double packs = (with_packs - without) / (kSeries * kSteps);
  MESSAGE("a value takes " << rows << " bytes, packed " << packs);
  CHECK(packs < rows / 2);
}
