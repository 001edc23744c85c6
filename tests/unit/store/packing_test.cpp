// Packed values: read as before, whatever happens.
#include "store/packing.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
#include <random>
#include <tuple>

#include "base/diagnostic.h"
#include "store/metric_batch.h"
#include "store/metric_writer.h"
#include "store/open.h"
#include "store/points.h"
#include "tests/unit/store/faulty_vfs.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

using Limits = std::numeric_limits<double>;

// One of the numbers that are easily lost, or any bits at all.
double awkward(int64_t step) {
  static const double kOnes[] = {0.0,
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::max(),
                                 Limits::min(),
                                 Limits::denorm_min(),
                                 -1.0,
                                 0.1,
                                 Limits::quiet_NaN()};
  if (step % 3 == 0) return kOnes[static_cast<size_t>(step / 3) % std::size(kOnes)];
  std::mt19937_64 random(static_cast<uint64_t>(step));
  double value = 0;
  const uint64_t bits = random();
  std::memcpy(&value, &bits, sizeof value);
  return std::isnan(value) ? 1.5 : value;
}

// Steps first..last: a value each, one each third step, one that is always another number.
void write_values(const std::filesystem::path& database, int64_t run, int64_t first, int64_t last) {
  MetricWriter writer(database, run);
  const auto loss = writer.series("train/loss", false);
  const auto speed = writer.series("tokens_per_s", true);
  const auto evaluated = writer.series("val/loss", false);
  for (int64_t step = first; step <= last; ++step) {
    const MetricWriter::Point points[] = {
        {loss, static_cast<double>(step) / 7}, {speed, awkward(step)}, {evaluated, -1.0}};
    writer.push(step, {points, step % 3 == 0 ? size_t{3} : size_t{2}});
  }
}

int64_t ended_run(Store& store, const std::string& digits, int64_t steps) {
  const int64_t id = store.create_run(new_run(digits));
  write_values(store.file(), id, 1, steps);
  store.end_attempt(id, RunState::finished, 0, std::nullopt, "");
  return id;
}

std::string all_of(const Store& store, const std::string& sql) {
  std::string text;
  const auto result = store.query(sql);
  for (size_t i = 0; i < result.rows.size(); ++i) {
    for (size_t k = 0; k < result.rows[i].size(); ++k)
      text += result.rows[i][k].value_or("NULL") + result.types[i][k] + ' ';
    text += '\n';
  }
  return text;
}

// Every value as the program reads it, as plain SQL does, and the summaries.
std::string everything(const Store& store) {
  std::string text = all_of(store,
                            "SELECT r.uid, m.name, m.step, m.value, m.kind, m.seconds FROM metrics "
                            "AS m JOIN runs AS r USING (run) ORDER BY 1, 2, 3");
  text += all_of(store,
                 "SELECT r.uid, s.name, s.count, s.non_finite, s.first_non_finite_step, s.last, "
                 "s.last_step, s.min, s.min_step, s.max, s.max_step FROM series AS s "
                 "JOIN runs AS r USING (run) ORDER BY 1, 2");
  for (const RunRow& run : store.runs()) {
    store.each_value(run.id, false, [&](const ValueRow& row) {
      uint64_t bits = 0;
      std::memcpy(&bits, &row.value, sizeof bits);
      text += run.uid + row.name + std::to_string(row.step) + ' ' + std::to_string(bits) + ' ' +
              std::to_string(row.seconds) + '\n';
    });
  }
  return text;
}

std::string values_health(const Store& store) {
  for (const auto& [name, value] : store.health())
    if (name == "values") return value;
  return "";
}

void check_sound(const Store& store) {
  CHECK(store.health().back().second == "ok");
  CHECK(values_health(store) == "ok");
  CHECK(value_of(store,
                 "SELECT count(*) FROM packed_steps WHERE id NOT IN (SELECT steps FROM "
                 "packed_metric)") == "0");
}

std::string rows_and_packs(const Store& store) {
  return value_of(store,
                  "SELECT (SELECT count(*) FROM metric) || ' rows, ' || (SELECT count(*) "
                  "FROM packed_metric) || ' packs'");
}

// Says in the pipe, when there is one, that it begins.
[[noreturn]] void pack_until_killed(const std::filesystem::path& database, int64_t run,
                                    int pipe = -1) {
  try {
    Store store(database, Store::Access::read_write);
    if (pipe >= 0 && ::write(pipe, "!", 1) != 1) ::_exit(1);
    for (;;) {
      store.pack_run(run);
      store.unpack_run(run);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "packer: %s\n", error.what());
  }
  ::_exit(1);
}

// Another process that packs and unpacks a run, as long as this lives.
class Packer {
 public:
  Packer(const std::filesystem::path& database, int64_t run) : child_(::fork()) {
    if (child_ == 0) pack_until_killed(database, run);
  }
  ~Packer() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

 private:
  pid_t child_;
};

// Kills a process that packs and unpacks a run, a random while after it has begun.
void kill_a_packer(const std::filesystem::path& database, int64_t run, std::mt19937& random) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) pack_until_killed(database, run, pipe[1]);
  ::close(pipe[1]);
  char begun = 0;
  CHECK(::read(pipe[0], &begun, 1) == 1);
  ::close(pipe[0]);
  ::usleep(10'000 + random() % 150'000);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
}

void kill_packers(int rounds) {
  const TemporaryFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 20'000);
  const std::string before = everything(store);
  std::mt19937 random(20260601);
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    kill_a_packer(folder.database(), id, random);
    CHECK(everything(store) == before);
    check_sound(store);
  }
}

// Whether a process that packs a run and unpacks it dies in its nth operation on the file.
bool packer_dies_at(FaultyVfs& vfs, int64_t nth, const std::filesystem::path& database,
                    int64_t run) {
  const pid_t child = ::fork();
  if (child == 0) {
    vfs.arm(FaultyVfs::Operation::any, FaultyVfs::Fault::death, nth, false);
    try {
      Store store(database, Store::Access::read_write);
      store.pack_run(run);
      store.unpack_run(run);
    } catch (const Error&) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) REQUIRE(WEXITSTATUS(status) == 0);
  return !WIFEXITED(status);
}

// Live and archived ones, which a further attempt only moves.
std::string all_values(const Store& store) {
  return all_of(store,
                "SELECT name, step, value FROM metrics UNION ALL SELECT name, step, value FROM "
                "metrics_archived ORDER BY 1, 2");
}

// Packs a run, unpacks it, packs it and begins another attempt of it while the nth operation on the
// file fails, and all after it when `for_ever`. False when it was not reached.
bool packs_through(FaultyVfs& vfs, FaultyVfs::Operation operation, FaultyVfs::Fault fault,
                   int64_t nth, bool for_ever) {
  const TemporaryFolder folder;
  int64_t id = 0;
  std::string before;
  {
    Store store(folder.database(), Store::Access::read_write);
    id = ended_run(store, "1a", 250);
    before = all_values(store);
  }
  vfs.arm(operation, fault, nth, for_ever);
  try {
    Store store(folder.database(), Store::Access::read_write);
    store.pack_run(id);
    store.unpack_run(id);
    store.pack_run(id);
    store.begin_attempt(id, 120);
  } catch (const Error& error) {
    CHECK(std::string(error.what()).starts_with("store: cannot "));
  }
  vfs.disarm();
  const Store store(folder.database(), Store::Access::read_write);
  CHECK(all_values(store) == before);
  check_sound(store);
  return vfs.has_struck();
}

// Of the pages in use.
double bytes_in_use(const Store& store) {
  return std::stod(value_of(store,
                            "SELECT (page_count - freelist_count) * page_size FROM "
                            "pragma_page_count, pragma_freelist_count, pragma_page_size"));
}

}  // namespace

TEST_CASE("pack: every value is read as before, by the program and by SQL, and put back") {
  const TemporaryFolder folder;
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
  const TemporaryFolder folder;
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
  const TemporaryFolder folder;
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
  const TemporaryFolder folder;
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
  const TemporaryFolder folder;
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
  const TemporaryFolder folder;
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
  const TemporaryFolder folder;
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
      const TemporaryFolder here, there;
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

TEST_CASE("pack: a run that is merged while another process packs it is that of the other store") {
  const TemporaryFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  const int64_t id = ended_run(other, "1a", 30'000);
  CHECK(store.merge(there.database(), kNobodyRuns).added == 1);
  other.begin_attempt(id, 5'000);
  write_values(there.database(), id, 5'001, 31'000);
  other.end_attempt(id, RunState::finished, 0, std::nullopt, "");
  {
    const Packer packer(here.database(), 1);
    CHECK(store.merge(there.database(), kNobodyRuns).updated == 1);
  }
  CHECK(everything(store) == everything(other));
  check_sound(store);
}

TEST_CASE("pack: a purge beside a process that unpacks leaves no value behind") {
  const TemporaryFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 250);
  store.pack_run(id);
  store.remove_run(id);
  store.purge_run(id, [&] { CHECK(store.unpack_run(id) == 0); });
  CHECK(rows_and_packs(store) == "0 rows, 0 packs");
  check_sound(store);
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
    const TemporaryFolder folder;
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
  const TemporaryFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  ended_run(store, "1a", 30);
  damage(store, "INSERT INTO metric (series, step, value, time_ms) VALUES (77, 1, 1.0, 1)");
  CHECK(values_health(store).starts_with("values in metric of 1 series that are not there"));
}

TEST_CASE("pack: the views hand a condition on a step down to the key, in the order of steps") {
  const TemporaryFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 250);
  store.pack_run(id);
  const std::string of = "FROM metrics WHERE run = 1 AND name = 'train/loss'";
  CHECK(all_of(store, "EXPLAIN QUERY PLAN SELECT value " + of + " AND step = 15")
            .find("SEARCH m USING PRIMARY KEY (series=? AND step=?)") != std::string::npos);
  CHECK(all_of(store, "SELECT step " + of) == all_of(store, "SELECT step " + of + " ORDER BY 1"));
}

TEST_CASE("pack: killed at any moment, it loses nothing and doubles nothing") {
  kill_packers(8);
}

TEST_CASE("pack: death in any operation on the file loses nothing and doubles nothing") {
  FaultyVfs vfs;
  const TemporaryFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 400);
  const std::string before = everything(store);
  int64_t nth = 1;
  int between = 0;  // neither packed nor as before
  for (; packer_dies_at(vfs, nth, folder.database(), id); ++nth) {
    CAPTURE(nth);
    CHECK(everything(store) == before);
    check_sound(store);
    between += store.has_packed(id);
    store.unpack_run(id);
  }
  CHECK(nth > 20);
  CHECK(between > 0);
  MESSAGE("death at " << nth - 1 << " places, after " << between << " of which values were packed");
}

TEST_CASE("pack: a disk that fails while values are packed or unpacked loses and doubles nothing") {
  using Operation = FaultyVfs::Operation;
  using Fault = FaultyVfs::Fault;
  FaultyVfs vfs;
  for (const auto& [operation, fault, for_ever] :
       {std::tuple(Operation::write, Fault::disk_full, true),
        std::tuple(Operation::write, Fault::short_write, false),
        std::tuple(Operation::any, Fault::io_error, false)}) {
    int64_t nth = 1;
    while (packs_through(vfs, operation, fault, nth, for_ever)) nth += 5;
    CHECK(nth > 50);
  }
}

TEST_CASE("pack: killed at any moment, 200 times" * doctest::test_suite("long")) {
  kill_packers(200);
}

TEST_CASE("pack: who writes beside it waits well under a second" * doctest::test_suite("slow")) {
  const TemporaryFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t packed = ended_run(store, "1a", 300'000);
  const int64_t running = store.create_run(new_run("2b"));
  using Clock = std::chrono::steady_clock;
  Clock::duration worst{};
  int64_t step = 0;
  {
    const Packer packer(folder.database(), packed);
    MetricWriter writer(folder.database(), running);
    const auto loss = writer.series("train/loss", false);
    for (const auto end = Clock::now() + std::chrono::seconds(4); Clock::now() < end;) {
      const auto begin = Clock::now();
      const MetricWriter::Point point{loss, 1.0};
      writer.push(++step, {&point, 1});
      writer.flush();
      worst = std::max(worst, Clock::now() - begin);
    }
  }
  MESSAGE(step << " flushes beside packing, the worst in "
               << std::chrono::duration<double, std::milli>(worst).count() << " ms");
  CHECK(worst < std::chrono::seconds(1));
  CHECK(store.metrics(store.series(running).at(0).id).size() == static_cast<size_t>(step));
  check_sound(store);
}

TEST_CASE("pack: bytes of a value before and after") {
  const TemporaryFolder folder;
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

TEST_CASE("pack: a packed curve of 100,000 points is read (prints how fast)" *
          doctest::test_suite("slow")) {
  const TemporaryFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 100'000);
  const int64_t series = store.series(id).at(0).id;
  const auto least_ms = [](auto&& read) {
    double least = 1e9;
    for (int i = 0; i < 7; ++i) {
      const std::clock_t start = std::clock();
      read();
      least = std::min(least, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return least;
  };
  const auto program = [&] { CHECK(store.metrics(series).size() == 100'000); };
  const auto sql = [&] {
    CHECK(
        value_of(store, "SELECT count(value) + min(step) FROM metrics WHERE name = 'train/loss'") ==
        "100001");
  };
  const double rows = least_ms(program), rows_by_sql = least_ms(sql);
  CHECK(store.pack_run(id) > 200'000);
  MESSAGE("rows: " << rows << " ms, by SQL " << rows_by_sql << " ms; packed: " << least_ms(program)
                   << " ms, by SQL " << least_ms(sql) << " ms");
}
