// A machine whose clock is set back, and a pid that another process has got.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/file_lock.h"
#include "store/metrics/metric_writer.h"
#include "store/run_state.h"
#include "tests/unit/store/clock_set_back.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

void push(const DatabaseFolder& folder, int64_t run, int64_t first, int64_t last) {
  MetricWriter writer(folder.database(), run);
  const auto loss = writer.series("loss", false);
  for (int64_t step = first; step <= last; ++step) {
    const MetricWriter::Point point{loss, 1.0 / static_cast<double>(step)};
    writer.push(step, {&point, 1});
  }
}

}  // namespace

TEST_CASE(
    "clock: set back by an hour within an attempt and between two, nothing is lost or wrong") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  push(folder, id, 1, 5);
  {
    const ClockSetBack back(std::chrono::hours(1));
    push(folder, id, 6, 8);
    store.end_attempt(id, RunState::interrupted, 130, std::nullopt, "");
    store.begin_attempt(id, 6);
    REQUIRE(store.attempts(id).back().started_ms < store.attempts(id).front().started_ms);
    push(folder, id, 7, 9);
    store.end_attempt(id, RunState::finished, 0, std::nullopt, "");
    store.remove_run(id);
    CHECK(store.restore_run(id));
  }
  CHECK(value_of(store, "SELECT group_concat(step) FROM metrics") == "1,2,3,4,5,6,7,8,9");
  CHECK(value_of(store, "SELECT group_concat(step) FROM metrics_archived") == "7,8");
  CHECK(store.run(id)->state == RunState::finished);
  CHECK(store.run(id)->last_step == 9);
  CHECK(store.run(id)->seconds >= 0);
  for (const AttemptRow& attempt : store.attempts(id))
    CHECK(*attempt.ended_ms >= attempt.started_ms);
}

TEST_CASE("state: a launcher is the process that began the attempt, and no zombie") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  RunRow run = *store.run(store.create_run(new_run("1a2b3c4d")));
  CHECK(launcher_lives(run));
  RunRow of_reused_pid = run;
  of_reused_pid.pid_started += 1;
  CHECK(!launcher_lives(of_reused_pid));
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const int64_t started = this_process().pid_started;
    ::_exit(::write(pipe[1], &started, sizeof started) == sizeof started ? 0 : 1);
  }
  run.pid = child;
  REQUIRE(::read(pipe[0], &run.pid_started, sizeof run.pid_started) == sizeof run.pid_started);
  siginfo_t ended;
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(!launcher_lives(run));
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(!launcher_lives(run));
  for (const int fd : pipe) ::close(fd);
}

TEST_CASE("state: it is the lock that tells, not the pid, which another process may have got") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a2b3c4d"));
  const RunRow run = *store.run(id);
  CHECK(run.pid == ::getpid());  // a living process has the pid of the row
  std::filesystem::create_directory(folder.path() / run.folder);
  const auto file = folder.path() / run.folder / "run.lock";
  FileLock::take(file);  // and let go at once
  CHECK(as_observed(run, folder.path()).state == RunState::crashed);
  const auto lock = FileLock::take(file);
  RunRow of_the_dead = run;
  of_the_dead.pid = 4'000'000;  // nobody: its trainer outlived its launcher
  CHECK(as_observed(of_the_dead, folder.path()).state == RunState::running);
}
