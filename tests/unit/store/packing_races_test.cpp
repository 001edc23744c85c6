// Packing beside processes that kill, purge, merge and write, and on disks that fail.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <random>
#include <tuple>

#include "base/diagnostic.h"
#include "store/metric_writer.h"
#include "tests/unit/store/faulty_vfs.h"
#include "tests/unit/store/packed_runs.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

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
  const DatabaseFolder folder;
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
  return vfs.dies_at(nth, [&] {
    Store store(database, Store::Access::read_write);
    store.pack_run(run);
    store.unpack_run(run);
  });
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
  const DatabaseFolder folder;
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

}  // namespace

TEST_CASE("pack: a run that is merged while another process packs it is that of the other store") {
  const DatabaseFolder here, there;
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

// In a process of its own: takes the first run of a store off the disk once it has values.
pid_t purge_in_child(const std::filesystem::path& database) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  Store store(database, Store::Access::read_write);
  while (value_of(store, "SELECT EXISTS (SELECT 1 FROM metric)") == "0") ::usleep(100);
  store.remove_run(1);
  store.purge_run(1, [] {});
  ::_exit(0);
}

TEST_CASE("merge: a run that is purged meanwhile leaves no value behind, and the merge says so") {
  const DatabaseFolder here, there;
  Store store(here.database(), Store::Access::read_write);
  Store other(there.database(), Store::Access::read_write);
  ended_run(other, "1a", 30'000);
  const pid_t child = purge_in_child(here.database());
  CHECK_THROWS_WITH_AS(store.merge(there.database(), kNobodyRuns),
                       doctest::Contains("a run was removed and purged while it was merged"),
                       Error);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(value_of(store, "SELECT count(*) FROM all_runs") == "0");
  CHECK(rows_and_packs(store) == "0 rows, 0 packs");
  check_sound(store);
}

TEST_CASE("pack: a purge beside a process that unpacks leaves no value behind") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = ended_run(store, "1a", 250);
  store.pack_run(id);
  store.remove_run(id);
  store.purge_run(id, [&] { CHECK(store.unpack_run(id) == 0); });
  CHECK(rows_and_packs(store) == "0 rows, 0 packs");
  check_sound(store);
}

TEST_CASE("pack: killed at any moment, it loses nothing and doubles nothing") {
  kill_packers(8);
}

TEST_CASE("pack: death in any operation on the file loses nothing and doubles nothing") {
  FaultyVfs vfs;
  const DatabaseFolder folder;
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

TEST_CASE("pack: who writes beside it is let in, and loses nothing" * doctest::test_suite("slow")) {
  const DatabaseFolder folder;
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
  CHECK(store.metrics(store.series(running).at(0).id).size() == static_cast<size_t>(step));
  check_sound(store);
}
