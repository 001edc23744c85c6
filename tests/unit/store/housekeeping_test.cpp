// Tags, notes, references, removing, purging.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/database/open.h"
#include "store/metrics/metric_writer.h"
#include "support/refusal.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

namespace {

void write_loss(const DatabaseFolder& folder, int64_t run, const std::string& name, double first,
                int64_t steps) {
  MetricWriter writer(folder.database(), run);
  const auto series = writer.series(name, false);
  for (int64_t step = 1; step <= steps; ++step) {
    const MetricWriter::Point point{series, first / static_cast<double>(step)};
    writer.push(step, {&point, 1});
  }
}

std::string refusal(const Store& store, const std::string& reference) {
  return refusal(ExitCode::no_such_run, [&] { store.find_run(reference); });
}

const std::vector<std::string> kTablesOfRuns = {
    "run",   "attempt", "parameter", "series", "metric",   "metric_archived", "checkpoint",
    "event", "tag",     "note",      "blob",   "run_blob", "attempt_blob"};

std::string rows_left(const Store& store) {
  std::string text;
  for (const std::string& table : kTablesOfRuns) {
    const std::string count = value_of(store, "SELECT count(*) FROM " + table);
    if (count != "0") text += table + " " + count + " ";
  }
  return text;
}

// A run with a row in every table.
int64_t full_run(Store& store, const DatabaseFolder& folder) {
  NewRun run = new_run("1a2b3c4d");
  run.tags = {"baseline"};
  run.provenance.environment_json = "{}";
  const int64_t id = store.create_run(run);
  store.add_note(id, "looks good");
  store.record_event({id, 0, "info", "start", "began"});
  store.record_checkpoint({id, 3, 1, 10, 20, "checkpoints/step_3"});
  write_loss(folder, id, "val/loss", 2, 5);
  store.begin_attempt(id, 3);
  store.end_attempt(id, RunState::finished, 0, std::nullopt, "");
  return id;
}

}  // namespace

TEST_CASE("store: tags come with the recipe, are added and removed; notes stay in order") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  NewRun run = new_run("1a");
  run.tags = {"baseline", "small", "small"};
  const int64_t id = store.create_run(run);
  store.add_tag(id, "a first");
  store.add_tag(id, "small");
  CHECK(store.remove_tag(id, "baseline"));
  CHECK(!store.remove_tag(id, "baseline"));
  CHECK(store.tags(id) == std::vector<std::string>{"a first", "small"});
  CHECK(store.run(id)->tags == "a first,small");
  store.add_note(id, "one");
  store.add_note(id, "two\nlines");
  REQUIRE(store.notes(id).size() == 2);
  CHECK(store.notes(id)[1].text == "two\nlines");
  CHECK(store.notes(id)[1].time_ms >= store.run(id)->started_ms);
}

TEST_CASE("store: a run is found by id, uid, folder, prefix, name, @last and @best") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t first = store.create_run(new_run("1a2b3c4d", "one"));
  const int64_t second = store.create_run(new_run("1a2b9999", "two"));
  CHECK(refusal(store, "@best") == "store: no run '@best' in '" + folder.database().string() +
                                       "'; no run has a finite val/loss yet");
  write_loss(folder, first, "val/loss", 2, 3);
  write_loss(folder, second, "val/loss", 3, 2);
  for (const std::string reference :
       {"1", "one", "one-1a2b3c4d", "one-1a", "1a2b3", "1a2b3c4d000000000000000000000000", "@best"})
    CHECK(store.find_run(reference).id == first);
  CHECK(store.find_run("@last").id == second);
  CHECK(refusal(store, "1a2b") ==
        "store: '1a2b' could mean several runs: 2 (two, 1a2b99990000), 1 (one, 1a2b3c4d0000)");
}

TEST_CASE("store: @best goes by the newest run's best_metric and best_goal") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  NewRun run = new_run("1a", "one");
  run.parameters = {{"run.best_goal", "\"maximize\"", false},
                    {"run.best_metric", "\"hellaswag/accuracy\"", true}};
  const int64_t first = store.create_run(run);
  run.uid = new_run("2b").uid;
  run.folder = "one-2b";
  const int64_t second = store.create_run(run);
  write_loss(folder, first, "val/loss", 2, 1);
  CHECK(refusal(store, "@best") == "store: no run '@best' in '" + folder.database().string() +
                                       "'; no run has a finite hellaswag/accuracy yet");
  write_loss(folder, first, "hellaswag/accuracy", 0.3, 1);
  write_loss(folder, second, "hellaswag/accuracy", 0.4, 1);
  CHECK(store.find_run("@best").id == second);
  store.create_run(new_run("3c", "another"));
  CHECK(store.find_run("@best").id == first);
}

TEST_CASE("store: a removed run is neither listed nor found, until it is restored") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a2b3c4d", "one"));
  store.create_run(new_run("2b", "two"));
  store.remove_run(id);
  CHECK(store.runs().size() == 1);
  CHECK(store.runs("one").empty());
  CHECK(store.removed_runs().at(0).removed_ms.value() > 0);
  CHECK(value_of(store, "SELECT group_concat(name) FROM runs") == "two");
  CHECK(refusal(store, "one-1a2b3c4d") ==
        "store: no run 'one-1a2b3c4d' in '" + folder.database().string() +
            "'; it was removed: `exprun restore one-1a2b3c4d` brings it back");
  CHECK(store.find_run("1a2b", Store::Among::removed).id == id);
  CHECK(store.restore_run(id));
  CHECK(store.find_run("one").id == id);
  CHECK(store.removed_runs().empty());
}

TEST_CASE("store: purging a removed run leaves nothing of it, and space goes back") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = full_run(store, folder);
  CHECK(rows_left(store) ==
        "run 1 attempt 2 parameter 3 series 1 metric 3 metric_archived 2 checkpoint 1 event 1 "
        "tag 1 note 1 blob 3 run_blob 2 attempt_blob 1 ");
  int folders = 0;
  store.purge_run(id, [&] { ++folders; });
  CHECK(folders == 0);  // it is not removed
  store.remove_run(id);
  store.purge_run(id, [&] {
    ++folders;
    CHECK(!store.restore_run(id));
  });
  CHECK(folders == 1);
  CHECK(rows_left(store) == "blob 3 ");
  CHECK(store.purge_blobs() == 3);
  CHECK(rows_left(store) == "");
  CHECK(value_of(store, "PRAGMA integrity_check") == "ok");
  CHECK(value_of(store, "SELECT count(*) FROM pragma_foreign_key_check") == "0");
}

TEST_CASE(
    "store: a run that is being purged takes no more values, and its series are not used again") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = full_run(store, folder);
  const int64_t series = store.series(id).at(0).id;
  store.remove_run(id);
  store.purge_run(id, [&] {
    write_loss(folder, id, "val/loss", 2, 9);
    write_loss(folder, id, "train/loss", 2, 9);
  });
  CHECK(rows_left(store) == "blob 3 ");
  const int64_t next = store.create_run(new_run("2b3c4d5e"));
  write_loss(folder, next, "val/loss", 2, 5);
  CHECK(store.series(next).at(0).id > series);
}

TEST_CASE("store: archived values of a run can be dropped alone") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = full_run(store, folder);
  CHECK(store.archived_values(id) == 2);
  CHECK(store.archived_values(id + 1) == 0);
  CHECK(store.purge_archived(id) == 2);
  CHECK(store.archived_values(id) == 0);
  CHECK(value_of(store, "SELECT count(*) FROM metric_archived") == "0");
  CHECK(value_of(store, "SELECT count(*) FROM metric") == "3");
}

TEST_CASE("store: a purge that was killed goes on, and its run is not restored meanwhile") {
  const DatabaseFolder folder;
  int64_t id = 0;
  {
    Store store(folder.database(), Store::Access::read_write);
    id = full_run(store, folder);
    store.remove_run(id);
  }
  const pid_t child = ::fork();
  if (child == 0) {
    Store store(folder.database(), Store::Access::read_write);
    store.purge_run(id, [] { ::_exit(9); });
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WEXITSTATUS(status) == 9);
  Store store(folder.database(), Store::Access::read_write);
  CHECK(!store.restore_run(id));
  CHECK(store.removed_runs().size() == 1);
  store.purge_run(id, [] {});
  store.purge_blobs();
  CHECK(rows_left(store) == "");
}

TEST_CASE("store: the WAL stays small, however large transactions are") {
  const DatabaseFolder folder;
  const auto connection = open_store(folder.database(), Connection::Mode::read_write);
  std::uintmax_t largest = 0;
  for (int i = 0; i < 10; ++i) {
    connection->write("fill", Connection::Durability::written, [&] {
      // 1,500 pages, so that the commits leave 1,500, 3,000, ... where nobody empties it
      connection->database().exec(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          "WHERE i < 1500) INSERT INTO blob (hash, content) SELECT " +
          std::to_string(i) + " || '-' || i, zeroblob(3500) FROM n");
    });
    largest = std::max(largest, std::filesystem::file_size(folder.database().string() + "-wal"));
  }
  CHECK(largest < 8 << 20);
}

TEST_CASE("store: values are visited in order, with those of earlier attempts when wanted") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = full_run(store, folder);
  const auto visited = [&](bool archived) {
    std::string text;
    store.each_value(id, archived, [&](const ValueRow& row) {
      text += std::to_string(row.attempt) + ":" + std::to_string(row.step) + " ";
      CHECK(row.name == "val/loss");
      CHECK(row.value == 2.0 / static_cast<double>(row.step));
    });
    return text;
  };
  CHECK(visited(false) == "0:1 0:2 0:3 ");
  CHECK(visited(true) == "1:4 1:5 0:1 0:2 0:3 ");
}
