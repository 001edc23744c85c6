#include "control/launch/ranks/restart_detection.h"

#include <doctest/doctest.h>

#include <map>

#include "base/clock.h"
#include "support/temporary_folder.h"

using namespace exprun;

namespace {

Variables given(std::map<std::string, std::string> environment) {
  return [environment = std::move(environment)](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
}

RunRow run_begun_with(Store& store, const std::string& environment) {
  NewRun run;
  run.uid = std::string(32, 'a');
  run.name = run.folder = "tiny";
  run.recipe_hash = "hash";
  run.provenance.environment_json = R"({"environment": )" + environment + "}";
  return *store.run(store.create_run(run));
}

}  // namespace

TEST_CASE("restart detection: torchrun and SLURM count them") {
  CHECK(restarts_before(given({})) == 0);
  CHECK(restarts_before(given({{"TORCHELASTIC_RESTART_COUNT", "2"}})) == 2);
  CHECK(restarts_before(given({{"SLURM_RESTART_COUNT", "1"}})) == 1);
}

TEST_CASE("restart detection: a run of this job is one with its number, or of this torchrun") {
  const TemporaryFolder folder;
  Store store(folder.path() / "exprun.db", Store::Access::read_write);
  const RunRow of_job = run_begun_with(store, R"({"SLURM_JOB_ID": "17"})");
  CHECK(was_begun_in_this_job(store, of_job, 1, given({{"SLURM_JOB_ID", "17"}})));
  CHECK_FALSE(was_begun_in_this_job(store, of_job, 1, given({{"SLURM_JOB_ID", "18"}})));
  CHECK_FALSE(was_begun_in_this_job(store, of_job, 1, given({})));
}

TEST_CASE("restart detection: an agent of torchrun knows its runs by the folder that is its own") {
  const TemporaryFolder folder;
  Store store(folder.path() / "exprun.db", Store::Access::read_write);
  const RunRow run = run_begun_with(
      store, R"({"TORCHELASTIC_ERROR_FILE": "/tmp/torchelastic_a/none_b/attempt_0/0/error.json"})");
  const auto begun_by = [&](const std::string& file) {
    return was_begun_by_this_agent(store, run, 1, given({{"TORCHELASTIC_ERROR_FILE", file}}));
  };
  CHECK(begun_by("/tmp/torchelastic_a/none_b/attempt_0/0/error.json"));
  CHECK(begun_by("/tmp/torchelastic_a/none_b/attempt_1/0/error.json"));
  CHECK_FALSE(begun_by("/tmp/torchelastic_c/none_d/attempt_0/0/error.json"));
  CHECK_FALSE(begun_by("error.json"));
  CHECK_FALSE(was_begun_by_this_agent(store, run, 1, given({})));
}

TEST_CASE(
    "restart detection: a run of this job on a machine that is silent has crashed, no other has") {
  const TemporaryFolder folder;
  Store store(folder.path() / "exprun.db", Store::Access::read_write);
  RunRow run = run_begun_with(store, R"({"SLURM_JOB_ID": "17"})");
  const auto state_after = [&](const RunRow& row, const std::string& job) {
    give_up_lost_machine(store, row, given({{"SLURM_JOB_ID", job}}));
    return store.run(run.id)->state;
  };
  run.last_beat_ms = now_ms() - 60'000;
  CHECK(state_after(run, "17") == RunState::running);  // here its lock tells
  run.host = "elsewhere";
  run.boot_id = "another";
  CHECK(state_after(run, "18") == RunState::running);  // it may live, in a job of its own
  run.last_beat_ms = now_ms() - 10'000;
  CHECK(state_after(run, "17") == RunState::running);
  run.last_beat_ms = now_ms() - 60'000;
  CHECK(state_after(run, "17") == RunState::crashed);
  CHECK(store.run(run.id)->message ==
        "its machine elsewhere is gone: the job was restarted elsewhere");
}

TEST_CASE("restart detection: an attempt that began elsewhere meanwhile is not ended") {
  const TemporaryFolder folder;
  Store store(folder.path() / "exprun.db", Store::Access::read_write);
  RunRow run = run_begun_with(store, R"({"SLURM_JOB_ID": "17"})");
  store.begin_attempt(run.id, 0, {});
  run.host = "elsewhere";
  run.boot_id = "another";
  run.last_beat_ms = now_ms() - 60'000;
  give_up_lost_machine(store, run, given({{"SLURM_JOB_ID", "17"}}));
  CHECK(store.run(run.id)->attempt == 2);
  CHECK(store.run(run.id)->state == RunState::running);
}
