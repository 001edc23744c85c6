#include "control/launch/former_life.h"

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

TEST_CASE("former life: torchrun and SLURM count them") {
  CHECK(lives_before(given({})) == 0);
  CHECK(lives_before(given({{"TORCHELASTIC_RESTART_COUNT", "2"}})) == 2);
  CHECK(lives_before(given({{"SLURM_RESTART_COUNT", "1"}})) == 1);
}

TEST_CASE("former life: a run of this job is one with its number, or of this torchrun") {
  const TemporaryFolder folder;
  Store store(folder.path() / "exprun.db", Store::Access::read_write);
  const RunRow of_job = run_begun_with(store, R"({"SLURM_JOB_ID": "17"})");
  CHECK(was_begun_in_this_job(store, of_job, given({{"SLURM_JOB_ID", "17"}})));
  CHECK_FALSE(was_begun_in_this_job(store, of_job, given({{"SLURM_JOB_ID", "18"}})));
  CHECK_FALSE(was_begun_in_this_job(store, of_job, given({})));
}

TEST_CASE("former life: a run of a machine that is silent has crashed, one that lives has not") {
  const TemporaryFolder folder;
  Store store(folder.path() / "exprun.db", Store::Access::read_write);
  RunRow run = run_begun_with(store, "{}");
  const auto state_after = [&](const RunRow& row) {
    give_up_lost_machine(store, row);
    return store.run(run.id)->state;
  };
  run.last_beat_ms = now_ms() - 60'000;
  CHECK(state_after(run) == RunState::running);  // here its lock tells
  run.host = "elsewhere";
  run.boot_id = "another";
  run.last_beat_ms = now_ms() - 10'000;
  CHECK(state_after(run) == RunState::running);
  run.last_beat_ms = now_ms() - 60'000;
  CHECK(state_after(run) == RunState::crashed);
  CHECK(store.run(run.id)->message ==
        "its machine elsewhere is gone: the job was started anew elsewhere");
}
