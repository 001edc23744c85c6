#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "tests/unit/store/store_fixture.h"

using namespace exprun;

TEST_CASE("store: events are kept in order, with the attempt that they belong to") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t id = store.create_run(new_run("1a"));
  store.record_event({id, 5, "info", "note", "first"});
  store.begin_attempt(id, 0);
  store.record_event({id, 0, "error", "end", "train/loss is nan at step 7"});
  const auto events = store.events(id);
  REQUIRE(events.size() == 2);
  CHECK(events[0].time_ms == 5);
  CHECK(events[0].attempt == 1);
  CHECK(events[1].time_ms > 1'000'000'000'000);
  CHECK(events[1].attempt == 2);
  CHECK(events[1].level == "error");
  CHECK(events[1].kind == "end");
  CHECK(events[1].text == "train/loss is nan at step 7");
  CHECK_THROWS_AS(store.record_event({id, 0, "loud", "end", "x"}), Error);
}

TEST_CASE("store: a sweep with the same name and space is continued") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const SweepRow first = store.find_or_create_sweep("lr", R"({"optimizer.lr": [1, 2]})");
  CHECK(first.state == "running");
  CHECK(first.uid.size() == 32);
  CHECK(first.space_json == R"({"optimizer.lr": [1, 2]})");
  store.end_sweep(first.id, "finished");
  CHECK(value_of(store, "SELECT state FROM sweep") == "finished");

  const SweepRow again = store.find_or_create_sweep("lr", first.space_json);
  CHECK(again.id == first.id);
  CHECK(again.uid == first.uid);
  CHECK(again.state == "running");
  CHECK(store.find_or_create_sweep("lr", "{}").id != first.id);
  CHECK(store.find_or_create_sweep("other", first.space_json).id != first.id);
  CHECK(value_of(store, "SELECT count(*) FROM sweep") == "3");
}

TEST_CASE("store: a run knows its sweep and trial") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  NewRun run = new_run("1a");
  run.sweep_id = store.find_or_create_sweep("lr", "{}").id;
  run.trial = 3;
  const RunRow row = store.run(store.create_run(run)).value();
  CHECK(row.sweep_id == run.sweep_id);
  CHECK(row.trial == 3);
  run.uid = new_run("2b").uid;
  run.sweep_id = 99;
  CHECK_THROWS_AS(store.create_run(run), Error);
}
