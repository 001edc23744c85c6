// A run recorded through a door with a fault in it: what was acknowledged is there afterwards, and
// every error says what failed.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "base/diagnostic.h"
#include "base/log.h"
#include "store/database/open.h"
#include "store/metrics/metric_writer.h"
#include "tests/unit/store/faulty_vfs.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

using Operation = FaultyVfs::Operation;
using Fault = FaultyVfs::Fault;

constexpr int kSeries = 3;

// What the run was told to be safe.
struct Acknowledged {
  int64_t run = 0;         // its number, once it was created
  int64_t step = 0;        // metrics up to this one
  int64_t checkpoint = 0;  // the newest that was recorded
  int64_t attempt = 0;     // that was begun
  bool ended = false;
};

void push_step(MetricWriter& writer, int64_t step) {
  MetricWriter::Point points[kSeries];
  for (int i = 0; i < kSeries; ++i)
    points[i] = {writer.series("s" + std::to_string(i), false), static_cast<double>(step * 10 + i)};
  writer.push(step, points);
}

// Told of every acknowledgement, so that a child that dies can pass it on.
using Tell = std::function<void(const Acknowledged&)>;

void push_steps(const std::filesystem::path& database, int64_t last, Acknowledged& safe,
                const Tell& tell) {
  MetricWriter writer(database, safe.run);
  while (safe.step < last) {
    push_step(writer, safe.step + 1);
    push_step(writer, safe.step + 2);
    writer.flush();
    safe.step += 2;
    tell(safe);
  }
}

// A run with all that a run writes: created, trained, saved, continued, ended. A part that the
// store refuses throws, with an error for people.
void record_run(const std::filesystem::path& database, Acknowledged& safe, const Tell& tell) {
  Store store(database, Store::Access::read_write);
  NewRun run = new_run("1a");
  run.recipe_json = std::string(20'000, 'r');  // several pages
  safe.run = store.create_run(run);
  safe.attempt = 1;
  tell(safe);
  push_steps(database, 6, safe, tell);
  store.record_checkpoint({safe.run, 6, 1, 10, 20, "checkpoints/step_6"});
  safe.checkpoint = 6;
  tell(safe);
  safe.attempt = store.begin_attempt(safe.run, 6);
  tell(safe);
  push_steps(database, 10, safe, tell);
  store.end_attempt(safe.run, RunState::finished, 0, std::nullopt, "");
  safe.ended = true;
  tell(safe);
}

void check_text(const std::string& text) {
  CAPTURE(text);
  CHECK(text.starts_with("store: cannot "));
  CHECK(text.find("exprun.db") != std::string::npos);
  CHECK(text.find("not an error") == std::string::npos);
}

// With the door repaired: everything acknowledged is there, whole, and nothing is damaged.
void check_kept(const std::filesystem::path& database, const Acknowledged& safe) {
  if (safe.run == 0) {  // a store in the making
    Store(database, Store::Access::read_write);
  }
  const Store store(database, Store::Access::read_write);  // takes in the journals
  REQUIRE(value_of(store, "PRAGMA integrity_check") == "ok");
  CHECK(value_of(store, "SELECT count(*) FROM pragma_foreign_key_check") == "0");
  if (safe.run == 0) return;
  const RunRow run = *store.run(safe.run);
  CHECK(run.attempt >= safe.attempt);
  CHECK(store.checkpoints(safe.run).size() >= (safe.checkpoint ? 1 : 0));
  if (safe.ended) CHECK(run.state == RunState::finished);
  const auto last = std::stoll(value_of(store, "SELECT coalesce(max(step), 0) FROM metrics"));
  CHECK(last >= safe.step);
  CHECK(value_of(store, "SELECT count(*) FROM metrics") == std::to_string(last * kSeries));
  CHECK(value_of(store,
                 "SELECT count(*) FROM metrics WHERE value <> step * 10 + "
                 "substr(name, 2)") == "0");
  CHECK(value_of(store,
                 "SELECT count(*) FROM series WHERE count <> last_step OR last <> "
                 "last_step * 10 + substr(name, 2)") == "0");
}

// Runs the scenario with the fault at every `stride`-th place until it is not reached any more.
int64_t faults_everywhere(Operation operation, Fault fault, bool for_ever, int64_t stride) {
  FaultyVfs vfs;
  for (int64_t nth = 1;; nth += stride) {
    const DatabaseFolder folder;
    Acknowledged safe;
    CAPTURE(nth);
    vfs.arm(operation, fault, nth, for_ever);
    try {
      record_run(folder.database(), safe, [](const Acknowledged&) {});
    } catch (const Error& error) {
      check_text(error.what());
    }
    vfs.disarm();
    if (!vfs.has_struck()) {
      CHECK(safe.ended);
      return nth - 1;
    }
    check_kept(folder.database(), safe);
  }
}

class Quiet {
 public:
  Quiet() { set_log_level(LogLevel::error); }
  ~Quiet() { set_log_level(LogLevel::info); }
};

struct Case {
  const char* name;
  Operation operation;
  Fault fault;
};
constexpr Case kCases[] = {{"a failed write", Operation::write, Fault::io_error},
                           {"a full disk", Operation::write, Fault::disk_full},
                           {"a short write", Operation::write, Fault::short_write},
                           {"a failed sync", Operation::sync, Fault::io_error},
                           {"a failed lock", Operation::lock, Fault::io_error},
                           {"a failed truncate", Operation::truncate, Fault::io_error}};

// Runs the scenario in a child that dies at its nth operation; what it had been told to be safe, or
// nothing when it came to its end alive.
std::optional<Acknowledged> die_at(FaultyVfs& vfs, int64_t nth,
                                   const std::filesystem::path& database) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const bool died = vfs.dies_at(nth, [&] {
    Acknowledged safe;
    record_run(database, safe, [&](const Acknowledged& now) {
      if (::write(pipe[1], &now, sizeof now) != sizeof now) ::_exit(1);
    });
  });
  ::close(pipe[1]);
  Acknowledged safe;
  for (Acknowledged now; ::read(pipe[0], &now, sizeof now) == sizeof now;) safe = now;
  ::close(pipe[0]);
  return died ? std::optional(safe) : std::nullopt;
}

// Two formats, the second of which moves many pages.
const Migrations kSmall = {
    {"0001",
     "CREATE TABLE run (id INTEGER PRIMARY KEY, text TEXT) STRICT; WITH RECURSIVE n(i) AS "
     "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO run SELECT i, "
     "hex(zeroblob(1000)) FROM n"}};
const Migrations kLarge = {kSmall[0],
                           {"0002",
                            "CREATE TABLE other (id INTEGER PRIMARY KEY, text TEXT) STRICT; "
                            "INSERT INTO other SELECT id, text || 'x' FROM run; DROP TABLE run"}};

bool migration_dies_at(FaultyVfs& vfs, int64_t nth, const std::filesystem::path& database) {
  return vfs.dies_at(nth, [&] { open_store(database, Connection::Mode::read_write, kLarge); });
}

void test_faults(bool for_ever, int64_t stride) {
  const Quiet quiet;
  for (const Case& each : kCases) {
    CAPTURE(each.name);
    const int64_t places = faults_everywhere(each.operation, each.fault, for_ever, stride);
    CHECK(places > 0);
    MESSAGE(std::string(each.name)
            << std::string(for_ever ? " for ever" : " once") << " at " << places << " places");
  }
}

void test_deaths(int64_t stride) {
  FaultyVfs vfs;
  int64_t nth = 1;
  for (;; nth += stride) {
    const DatabaseFolder folder;
    CAPTURE(nth);
    const auto safe = die_at(vfs, nth, folder.database());
    if (!safe) break;
    check_kept(folder.database(), *safe);
  }
  CHECK(nth > 100);
  MESSAGE("death at " << nth - 1 << " places");
}

void test_deaths_of_a_migration(int64_t stride) {
  FaultyVfs vfs;
  int64_t nth = 1;
  for (bool died = true; died; nth += stride) {
    const DatabaseFolder folder;
    CAPTURE(nth);
    { open_store(folder.database(), Connection::Mode::read_write, kSmall); }
    died = migration_dies_at(vfs, nth, folder.database());
    const auto store = open_store(folder.database(), Connection::Mode::read_write, kLarge);
    CHECK(store->database()
              .execAndGet("SELECT count(*) || max(length(text)) FROM other")
              .getString() == "402001");
    CHECK(store->database().execAndGet("PRAGMA integrity_check").getString() == "ok");
    const Connection copy(folder.database().string() + ".format-1", Connection::Mode::read_only);
  }
  CHECK(nth > 50);
  MESSAGE("death at " << nth - 1 << " places of a migration");
}

constexpr int64_t kSome = 7;  // every place is tried by tools/test --long
constexpr int64_t kEvery = 1;

}  // namespace

TEST_SUITE_BEGIN("slow");

TEST_CASE("fault: whatever fails once, nothing acknowledged is lost and nothing is damaged") {
  test_faults(false, kSome);
}
TEST_CASE("fault: whatever fails for ever, nothing acknowledged is lost and nothing is damaged") {
  test_faults(true, kSome);
}
TEST_CASE("fault: a process that dies in an operation loses nothing acknowledged") {
  test_deaths(kSome);
}
TEST_CASE("fault: a migration that dies in an operation is made by the next opener") {
  test_deaths_of_a_migration(kSome);
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("long");

TEST_CASE("fault: whatever fails once, at every place") {
  test_faults(false, kEvery);
}
TEST_CASE("fault: whatever fails for ever, at every place") {
  test_faults(true, kEvery);
}
TEST_CASE("fault: death in every operation") {
  test_deaths(kEvery);
}
TEST_CASE("fault: death in every operation of a migration") {
  test_deaths_of_a_migration(kEvery);
}

TEST_SUITE_END();
