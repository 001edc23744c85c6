#include "store/attempts.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "base/diagnostic.h"
#include "base/files/file_lock.h"
#include "store/database/connection.h"
#include "store/metrics/metric_writer.h"
#include "store/run_state.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

// Values at steps first..last of one series: value = step * factor.
void write_steps(const DatabaseFolder& folder, int64_t run, int64_t first, int64_t last,
                 double factor) {
  MetricWriter writer(folder.database(), run);
  const auto loss = writer.series("train/loss", false);
  for (int64_t step = first; step <= last; ++step) {
    const MetricWriter::Point point{loss, static_cast<double>(step) * factor};
    writer.push(step, {&point, 1});
  }
  writer.flush();
}

std::string dump(const Store& store, const std::string& sql) {
  std::string text;
  for (const auto& row : store.query(sql).rows) {
    for (const auto& cell : row) text += cell.value_or("NULL") + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("store: an attempt that goes back archives what it recorded of later steps") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  MetricWriter writer(folder.database(), id);
  const auto loss = writer.series("train/loss", false);
  const auto push = [&](int64_t step, double value) {
    const MetricWriter::Point point{loss, value};
    writer.push(step, {&point, 1});
  };
  for (int64_t step = 1; step <= 5; ++step) push(step, static_cast<double>(step));
  writer.flush();
  store.record_checkpoint({id, 4, 1, 100, 0, "checkpoints/step_00000004"});
  store.roll_back(id, 3);
  CHECK(store.run(id)->last_step == 3);
  CHECK(dump(store, "SELECT step, value FROM metrics") == "1 1 2 2 3 3 ");
  CHECK(dump(store, "SELECT last, last_step, max FROM series") == "3 3 3 ");
  CHECK(dump(store, "SELECT count(*) FROM checkpoint") == "0 ");
  push(4, 40);
  writer.flush();
  CHECK(store.run(id)->last_step == 4);
  CHECK(dump(store, "SELECT attempt, step, value FROM metrics_archived ORDER BY step") ==
        "1 4 4 1 5 5 ");
  CHECK(store.begin_attempt(id, 3) == 2);
  CHECK(dump(store, "SELECT attempt, step, value FROM metrics_archived ORDER BY step") ==
        "1 4 40 1 5 5 ");
}

TEST_CASE("store: the end of an attempt is the state of its run") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  store.end_attempt(id, RunState::killed, std::nullopt, 9, "killed by signal 9");
  RunRow run = store.run(id).value();
  CHECK(run.state == RunState::killed);
  CHECK(run.signal == 9);
  CHECK(!run.exit_code);
  CHECK(run.message == "killed by signal 9");
  CHECK(run.ended_ms.value() >= run.started_ms);

  CHECK(store.begin_attempt(id, 0) == 2);
  run = store.run(id).value();
  CHECK(run.state == RunState::running);
  CHECK(run.attempt == 2);
  CHECK(!run.ended_ms);
  CHECK(run.message.empty());

  store.end_attempt(id, RunState::finished, 0, std::nullopt, "");
  CHECK(store.run(id)->state == RunState::finished);
  const auto attempts = store.attempts(id);
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0].state == "killed");
  CHECK(attempts[0].signal == 9);
  CHECK(attempts[1].state == "finished");
  CHECK(attempts[1].exit_code == 0);
}

TEST_CASE("store: a new attempt settles the one before, which nobody ended") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  store.begin_attempt(id, 0);
  const auto attempts = store.attempts(id);
  CHECK(attempts[0].state == "crashed");
  CHECK(attempts[0].message == "its process ended without recording why");
  CHECK(attempts[1].state == "running");
}

TEST_CASE("store: a new attempt archives later rows under the attempts that wrote them") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  write_steps(folder, id, 0, 6, 1);
  store.begin_attempt(id, 4);
  write_steps(folder, id, 5, 8, 10);
  store.begin_attempt(id, 2);
  write_steps(folder, id, 3, 4, 100);

  CHECK(dump(store, "SELECT step, value FROM metrics ORDER BY step") == "0 0 1 1 2 2 3 300 4 400 ");
  CHECK(dump(store, "SELECT attempt, step, value FROM metrics_archived ORDER BY 1, 2") ==
        "1 3 3 1 4 4 1 5 5 1 6 6 2 5 50 2 6 60 2 7 70 2 8 80 ");
  CHECK(store.run(id)->last_step == 4);
}

TEST_CASE("store: a resumed run ends with the rows and summaries of an uninterrupted one") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t whole = store.create_run(new_run("1a"));
  write_steps(folder, whole, 0, 40, 0.1);
  const int64_t resumed = store.create_run(new_run("2b"));
  write_steps(folder, resumed, 0, 17, 0.1);
  store.begin_attempt(resumed, 10);
  write_steps(folder, resumed, 11, 33, 0.1);
  store.begin_attempt(resumed, 30);
  write_steps(folder, resumed, 31, 40, 0.1);
  const auto all = [&](int64_t run) {
    const std::string id = std::to_string(run);
    return dump(store, "SELECT name, step, value FROM metrics WHERE run = " + id +
                           " ORDER BY name, step") +
           dump(store,
                "SELECT name, timing, count, non_finite, first_non_finite_step, last, last_step, "
                "min, min_step, max, max_step FROM series WHERE run = " +
                    id + " ORDER BY name");
  };
  CHECK(all(whole) == all(resumed));
}

TEST_CASE("store: a new attempt forgets the checkpoints that lie after its beginning") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  for (const int64_t step : {10, 20, 30}) {
    store.record_checkpoint({id, step, 1, 1000 + step, 5, "checkpoints/step"});
  }
  store.begin_attempt(id, 20);
  const auto checkpoints = store.checkpoints(id);
  REQUIRE(checkpoints.size() == 2);
  CHECK(checkpoints[1].step == 20);
  CHECK(checkpoints[1].bytes == 1020);
  CHECK(checkpoints[1].attempt == 1);
  CHECK(checkpoints[1].folder == "checkpoints/step");
  store.forget_checkpoint(id, 10);
  CHECK(store.checkpoints(id).size() == 1);
}

TEST_CASE("store: a summary is true again after everything was archived") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  write_steps(folder, id, 1, 5, 1);
  store.begin_attempt(id, 0);
  CHECK(store.series(id).at(0).count == 0);
  CHECK(dump(store, "SELECT last, last_step, min, max FROM series") == "NULL NULL NULL NULL ");
  write_steps(folder, id, 1, 2, 1);
  CHECK(store.series(id).at(0).count == 2);
  CHECK(store.series(id).at(0).last_step == 2);
}

TEST_CASE("store: a run recorded as running is observed by its lock") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a2b3c4d"));
  const RunRow run = store.run(id).value();
  std::filesystem::create_directories(folder.path() / run.folder);
  {
    const auto lock = FileLock::take(folder.path() / run.folder / "run.lock");
    CHECK(as_observed(run, folder.path()).state == RunState::running);
    CHECK(!store.reconcile_state(run));
    CHECK(store.run(id)->state == RunState::running);
  }
  CHECK(as_observed(run, folder.path()).state == RunState::crashed);
  CHECK(store.reconcile_state(run));
  CHECK(store.run(id)->state == RunState::crashed);
  CHECK(!store.reconcile_state(run));
}

TEST_CASE("store: a run whose folder was removed runs as long as it says that it lives") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const RunRow run = store.run(store.create_run(new_run("1a"))).value();
  CHECK(as_observed(run, folder.path()).state == RunState::running);
  CHECK(!store.reconcile_state(run));
  RunRow silent = run;
  silent.last_beat_ms -= 60'000;
  CHECK(as_observed(silent, folder.path()).state == RunState::crashed);

  std::filesystem::create_directories(folder.path() / run.folder);
  std::ofstream(folder.path() / run.folder / "run.lock").close();
  CHECK(as_observed(run, folder.path()).state == RunState::crashed);
}

TEST_CASE("store: a crash is never recorded for another attempt, nor for another host") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  const RunRow first = store.run(id).value();
  store.begin_attempt(id, 0);
  CHECK(!store.reconcile_state(first));
  CHECK(store.run(id)->state == RunState::running);

  RunRow elsewhere = store.run(id).value();
  elsewhere.host = "another-host";
  elsewhere.boot_id = "another-boot";
  CHECK(on_another_host(elsewhere));
  CHECK(as_observed(elsewhere, folder.path()).state == RunState::running);
  CHECK(!store.reconcile_state(elsewhere));
}

TEST_CASE("store: a machine that has this one's name, and nothing else of it, is another host") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  RunRow run = store.run(store.create_run(new_run("1a"))).value();
  CHECK(!on_another_host(run));
  run.boot_id = "after a restart";
  CHECK(!on_another_host(run));
  run.machine_id = "of another installation";
  CHECK(on_another_host(run));
  CHECK(as_observed(run, folder.path()).state == RunState::running);
}

TEST_CASE("store: a container that runs under this kernel is this host, whatever its name") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  RunRow run = store.run(store.create_run(new_run("1a"))).value();
  run.host = "a-container";
  run.machine_id = "";
  CHECK(!on_another_host(run));
}

TEST_CASE("store: a container with process numbers of its own is this host, and its pids are not") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  RunRow run = store.run(store.create_run(new_run("1a"))).value();
  CHECK(!in_another_pid_namespace(run));
  run.boot_id = run.boot_id.substr(0, run.boot_id.find('/')) + "/pid:[1]";
  CHECK(in_another_pid_namespace(run));
  CHECK(!on_another_host(run));
  CHECK(as_observed(run, folder.path()).state == RunState::running);
  run.last_beat_ms -= 60'000;
  CHECK(as_observed(run, folder.path()).state == RunState::crashed);
  run.boot_id = "after a restart/pid:[1]";
  CHECK(!in_another_pid_namespace(run));
}

TEST_CASE("store: an end that was recorded is not turned into a crash") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  const RunRow before = store.run(id).value();
  store.end_attempt(id, RunState::finished, 0, std::nullopt, "");
  CHECK(!store.reconcile_state(before));
  CHECK(store.run(id)->state == RunState::finished);
}

TEST_CASE("store: an attempt of a run that is not there is an error") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  CHECK_THROWS_WITH_AS(store.begin_attempt(7, 0),
                       ("store: no run 7 in '" + folder.database().string() + "'").c_str(), Error);
}

TEST_CASE("store: an attempt that begins reads the kept values before its lock, and what is new") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  write_steps(folder, id, 1, 8, 1);
  Connection connection(folder.database(), Connection::Mode::read_write);
  const auto begin = [&](const KeptSummaries& kept) {
    connection.write("record an attempt in", Connection::Durability::written,
                     [&] { archive_after(connection, id, 5, kept); });
  };
  const std::string summary =
      "SELECT count, last, last_step, min, min_step, max, max_step FROM series";

  SUBCASE("nothing is new: the values are not read again") {
    const KeptSummaries kept(connection, id, 5);
    connection.write("change", Connection::Durability::written, [&] {
      Query(connection, "UPDATE metric SET value = -1 WHERE step = 2").run();
    });
    begin(kept);
    CHECK(dump(store, summary) == "5 5 5 1 1 5 5 ");
  }
  SUBCASE("a value of a kept step was added in between") {
    const KeptSummaries kept(connection, id, 5);
    write_steps(folder, id, 0, 0, 1);
    begin(kept);
    CHECK(dump(store, summary) == "6 5 5 0 0 5 5 ");
    CHECK(dump(store, "SELECT count(*) FROM metrics") == "6 ");
  }
  SUBCASE("a value of a later step was added in between") {
    const KeptSummaries kept(connection, id, 5);
    write_steps(folder, id, 9, 9, 1);
    begin(kept);
    CHECK(dump(store, summary) == "5 5 5 1 1 5 5 ");
    CHECK(dump(store, "SELECT count(*) FROM metrics_archived") == "4 ");
  }
  SUBCASE("a series began in between") {
    const KeptSummaries kept(connection, id, 5);
    MetricWriter writer(folder.database(), id);
    const auto late = writer.series("val/loss", false);
    for (const int64_t step : {4, 8}) {
      const MetricWriter::Point point{late, 0.5};
      writer.push(step, {&point, 1});
    }
    writer.flush();
    begin(kept);
    CHECK(dump(store, summary + " WHERE name = 'val/loss'") == "1 0.5 4 0.5 4 0.5 4 ");
  }
}
