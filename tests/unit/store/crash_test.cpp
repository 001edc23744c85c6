// Writers that are killed, and writers that fight.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "base/files/file_lock.h"
#include "store/metrics/metric_writer.h"
#include "store/run_state.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

constexpr int kSeries = 5;

void push_step(MetricWriter& writer, const std::array<MetricWriter::Series, kSeries>& series,
               int64_t step) {
  std::array<MetricWriter::Point, kSeries> points;
  for (int i = 0; i < kSeries; ++i) points[i] = {series[i], static_cast<double>(step * 10 + i)};
  writer.push(step, points);
}

std::array<MetricWriter::Series, kSeries> make_series(MetricWriter& writer) {
  std::array<MetricWriter::Series, kSeries> series;
  for (int i = 0; i < kSeries; ++i) series[i] = writer.series("s" + std::to_string(i), i == 0);
  return series;
}

// Pushes steps until it is killed; says in the pipe up to which one they are safe.
[[noreturn]] void write_until_killed(const std::filesystem::path& database, int64_t run,
                                     const std::filesystem::path& lock_file, int pipe,
                                     unsigned seed) {
  try {
    const FileLock lock = FileLock::take(lock_file);
    std::minstd_rand random(seed);
    MetricWriter writer(database, run);
    const auto series = make_series(writer);
    for (int64_t step = 1;; ++step) {
      push_step(writer, series, step);
      if (random() % 50 != 0) continue;
      writer.flush();
      if (::write(pipe, &step, sizeof step) != sizeof step) ::_exit(1);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "writer: %s\n", error.what());
  }
  ::_exit(1);
}

// Kills a writer after `delay`; the last step that it called safe.
int64_t kill_a_writer(const std::filesystem::path& database, int64_t run,
                      const std::filesystem::path& lock, std::chrono::microseconds delay,
                      unsigned seed) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) write_until_killed(database, run, lock, pipe[1], seed);
  ::close(pipe[1]);
  std::this_thread::sleep_for(delay);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  int64_t acknowledged = 0;
  for (int64_t step; ::read(pipe[0], &step, sizeof step) == sizeof step;) acknowledged = step;
  ::close(pipe[0]);
  return acknowledged;
}

void check_whole(const Store& store, int64_t run, int64_t acknowledged) {
  const std::string where = " WHERE run = " + std::to_string(run);
  const std::string last = value_of(store, "SELECT coalesce(max(step), 0) FROM metrics" + where);
  CAPTURE(acknowledged);
  CHECK(std::stoll(last) >= acknowledged);
  CHECK(value_of(store, "SELECT count(*) FROM metrics" + where) ==
        std::to_string(std::stoll(last) * kSeries));
  CHECK(value_of(store, "SELECT count(*) FROM series" + where + " AND count <> " + last) == "0");
  CHECK(store.run(run)->last_step == std::stoll(last));
}

void kill_writers(int rounds) {
  const DatabaseFolder folder;
  std::mt19937 random(20260501);
  int64_t acknowledged_in_all = 0;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    Store store(folder.database(), Store::Access::read_write);
    NewRun made = new_run("1a");
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(round));
    made.uid = new_run(digits).uid;
    made.folder = std::string("run-") + digits;
    std::filesystem::create_directory(folder.path() / made.folder);
    const auto lock = folder.path() / made.folder / "run.lock";
    FileLock::take(lock);  // there before the row, as a run's is
    const int64_t run = store.create_run(made);
    const std::chrono::microseconds delay(2'000 + random() % 60'000);
    const int64_t acknowledged =
        kill_a_writer(folder.database(), run, lock, delay, static_cast<unsigned>(random()));
    acknowledged_in_all += acknowledged;
    // At the first look: the kernel dropped the lock before the process was reaped.
    CHECK(as_observed(store.run(run).value(), folder.path()).state == RunState::crashed);
    check_whole(store, run, acknowledged);
  }
  const Store store(folder.database(), Store::Access::read_only);
  CHECK(value_of(store, "PRAGMA integrity_check") == "ok");
  CHECK(acknowledged_in_all > 0);
}

}  // namespace

TEST_CASE("store: a writer killed at any moment loses nothing that it called safe") {
  kill_writers(50);
}

TEST_CASE("store: a writer killed at any moment, 500 times" * doctest::test_suite("long")) {
  kill_writers(500);
}

TEST_CASE("store: many writers and a reader at once, and nobody is turned away") {
  const DatabaseFolder folder;
  constexpr int kWriters = 8;
  constexpr int64_t kSteps = 200;
  { const Store store(folder.database(), Store::Access::read_write); }
  std::array<pid_t, kWriters> children;
  for (int i = 0; i < kWriters; ++i) {
    children[i] = ::fork();
    if (children[i] != 0) continue;
    int result = 1;
    try {
      Store store(folder.database(), Store::Access::read_write);
      const int64_t run = store.create_run(new_run("abc" + std::to_string(i)));
      MetricWriter writer(folder.database(), run);
      const auto series = make_series(writer);
      for (int64_t step = 1; step <= kSteps; ++step) {
        push_step(writer, series, step);
        if (step % 4 == 0) writer.flush();
      }
      writer.flush();
      store.end_attempt(run, RunState::finished, 0, std::nullopt, "");
      result = 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "writer %d: %s\n", i, error.what());
    }
    ::_exit(result);
  }
  for (int i = 0; i < 20; ++i) {
    const Store reader(folder.database(), Store::Access::read_only);
    for (const RunRow& run : reader.runs()) reader.series(run.id);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  const Store store(folder.database(), Store::Access::read_only);
  CHECK(store.runs().size() == kWriters);
  for (const RunRow& run : store.runs()) {
    CHECK(run.state == RunState::finished);
    check_whole(store, run.id, kSteps);
  }
  CHECK(!std::filesystem::exists(folder.database().string() + ".journals"));
}
