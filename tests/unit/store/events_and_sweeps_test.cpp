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
  CHECK(first.uid.size() == 32);
  CHECK(first.space_json == R"({"optimizer.lr": [1, 2]})");
  const SweepRow again = store.find_or_create_sweep("lr", first.space_json);
  CHECK(again.id == first.id);
  CHECK(again.uid == first.uid);
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

TEST_CASE("store: a trial has its run from the moment that the run is there") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t sweep = store.find_or_create_sweep("lr", "{}").id;
  store.record_trials(sweep, {{1, "h1", "lr=1", {}}, {2, "h2", "lr=2", {}}});
  store.record_trial_problem(sweep, 2, "no data");
  NewRun run = new_run("1a");
  run.sweep_id = sweep;
  run.trial = 2;
  const int64_t id = store.create_run(run);
  const auto trials = store.trials(sweep);
  REQUIRE(trials.size() == 2);
  CHECK(!trials[0].run);
  CHECK(trials[1].run == id);
  CHECK(trials[1].problem.empty());
  store.record_trials(sweep, {{1, "h1", "lr=1", id}, {2, "h2", "lr=2", {}}});
  CHECK(store.trials(sweep)[0].run == id);
  CHECK(store.trials(sweep)[1].run == id);
}

TEST_CASE("store: the state of a sweep follows from its trials") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  const int64_t sweep = store.find_or_create_sweep("lr", "{}").id;
  const auto state = [&] { return value_of(store, "SELECT state FROM sweeps"); };
  CHECK(state() == "finished");  // there is nothing to do
  store.record_trials(sweep, {{1, "h1", "lr=1", {}}, {2, "h2", "lr=2", {}}});
  CHECK(state() == "interrupted");
  NewRun run = new_run("1a");
  run.sweep_id = sweep;
  run.trial = 1;
  const int64_t first = store.create_run(run);
  CHECK(state() == "running");
  store.end_attempt(first, RunState::finished, 0, {}, "");
  CHECK(state() == "interrupted");
  store.record_trial_problem(sweep, 2, "no data");
  CHECK(state() == "failed");
  run.uid = new_run("2b").uid;
  run.trial = 2;
  const int64_t second = store.create_run(run);
  CHECK(state() == "running");
  for (const auto& [ended, expected] : {std::pair{RunState::killed, "interrupted"},
                                        {RunState::crashed, "interrupted"},
                                        {RunState::preempted, "interrupted"},
                                        {RunState::diverged, "failed"},
                                        {RunState::failed, "failed"},
                                        {RunState::pruned, "finished"},
                                        {RunState::finished, "finished"}}) {
    store.end_attempt(second, ended, 1, {}, "");
    CHECK(state() == expected);
  }
  // Who removes a run wants it no more: what is left is finished.
  store.remove_run(second);
  CHECK(state() == "finished");
  CHECK(value_of(store, "SELECT state FROM trials WHERE trial = 2") == "removed");
  store.remove_run(first);
  CHECK(state() == "removed");
  store.restore_run(first);
  CHECK(state() == "finished");
  // What was purged waits for nothing either, until the same command trains it again.
  store.purge_run(second, [] {});
  CHECK(value_of(store, "SELECT state FROM trials WHERE trial = 2") == "removed");
  CHECK(store.trials(sweep)[1].purged);
  CHECK(state() == "finished");
  store.record_trials(sweep, {{2, "h2", "lr=2", {}}});
  CHECK(store.trials(sweep)[1].purged);
  run.uid = new_run("3c").uid;
  store.create_run(run);
  CHECK(!store.trials(sweep)[1].purged);
  CHECK(state() == "running");
}

TEST_CASE("store: a trial whose run was purged and that cannot begin again has failed") {
  const DatabaseFolder folder;
  Store store(folder.database(), Store::Access::read_write);
  NewRun run = new_run("1a");
  const int64_t sweep = store.find_or_create_sweep("lr", "{}").id;
  run.sweep_id = sweep;
  run.trial = 1;
  store.record_trials(sweep, {{1, "h1", "lr=1", {}}});
  const int64_t id = store.create_run(run);
  store.end_attempt(id, RunState::finished, 0, {}, "");
  store.remove_run(id);
  store.purge_run(id, [] {});
  store.record_trial_problem(sweep, 1, "no data");
  CHECK(!store.trials(sweep).front().purged);
  CHECK(value_of(store, "SELECT state FROM trials") == "failed");
  CHECK(value_of(store, "SELECT state FROM sweeps") == "failed");
}
