#include "control/launch/ranks/external_launcher.h"

#include <doctest/doctest.h>

#include <map>

#include "base/diagnostic.h"

using namespace exprun;

namespace {

using Environment = std::map<std::string, std::string>;

std::optional<LocalRanks> external(const Environment& environment) {
  return external_rank([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

const Environment kTorchrun{{"RANK", "5"},
                            {"WORLD_SIZE", "8"},
                            {"MASTER_ADDR", "10.0.0.7"},
                            {"MASTER_PORT", "29500"},
                            {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                            {"TORCHELASTIC_RESTART_COUNT", "2"}};

const Environment kSrun{{"SLURM_JOB_ID", "17"},
                        {"SLURM_STEP_ID", "0"},
                        {"SLURM_PROCID", "6"},
                        {"SLURM_STEP_NUM_TASKS", "7"},
                        {"SLURM_STEP_NODELIST", "gpu[03-05,9],login"}};

Environment with(Environment environment, const std::string& name, const std::string& value) {
  environment[name] = value;
  return environment;
}

}  // namespace

TEST_CASE("external rank: none without a launcher, in a batch script, or alone") {
  CHECK_FALSE(external({}));
  CHECK_FALSE(external({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "1"}}));
  CHECK_FALSE(external(with(with(kTorchrun, "WORLD_SIZE", "1"), "RANK", "0")));
}

TEST_CASE("external rank: torchrun's") {
  const auto rank = external(kTorchrun);
  REQUIRE(rank);
  CHECK(rank->rank == 5);
  CHECK(rank->world_size == 8);
  CHECK(rank->address == "10.0.0.7");
  CHECK(rank->port == 29500);
  CHECK(rank->store_is_served);
  CHECK(rank->restarts == 2);
  CHECK(rank->local_rank == 0);
  CHECK(external(with(kTorchrun, "LOCAL_RANK", "3"))->local_rank == 3);
  CHECK_FALSE(external(with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "False"))->store_is_served);
}

TEST_CASE("external rank: what the launcher calls the job") {
  CHECK(external(kTorchrun)->job == "");
  CHECK(external(with(kTorchrun, "TORCHELASTIC_RUN_ID", "none"))->job == "none");
  CHECK(external(kSrun)->job == "17.0");
  CHECK(external({{"OMPI_COMM_WORLD_RANK", "1"},
                  {"OMPI_COMM_WORLD_SIZE", "2"},
                  {"PMIX_NAMESPACE", "prterun-9"}})
            ->job == "prterun-9");
}

TEST_CASE("external rank: whether the launcher has ranks on several machines") {
  CHECK_FALSE(external(kTorchrun)->several_machines);
  CHECK_FALSE(external(with(kTorchrun, "LOCAL_WORLD_SIZE", "8"))->several_machines);
  CHECK(external(with(kTorchrun, "LOCAL_WORLD_SIZE", "4"))->several_machines);
  CHECK_FALSE(external(with(kSrun, "SLURM_STEP_NUM_NODES", "1"))->several_machines);
  CHECK(external(with(kSrun, "SLURM_STEP_NUM_NODES", "2"))->several_machines);
  CHECK(ranks_of_machine({2, 1, 0, "box:29500"}).several_machines);
  CHECK_FALSE(ranks_of_machine({1, 4, 0, "box:29500"}).several_machines);
}

TEST_CASE("external rank: srun's, who meet on the step's first host at a port of their own") {
  const auto rank = external(kSrun);
  REQUIRE(rank);
  CHECK(rank->rank == 6);
  CHECK(rank->world_size == 7);
  CHECK(rank->address == "gpu03");
  CHECK(external(with(kSrun, "SLURM_STEP_NODELIST", "a1,b2"))->address == "a1");
  CHECK(external(with(kSrun, "SLURM_STEP_NODELIST", "n[7]"))->address == "n7");
  CHECK(external(with(kSrun, "MASTER_ADDR", "10.1.1.1"))->address == "10.1.1.1");
  CHECK(rank->port == external(with(kSrun, "SLURM_PROCID", "0"))->port);
  CHECK(rank->port != external(with(kSrun, "SLURM_JOB_ID", "18"))->port);
  CHECK(rank->port >= 15000);
  CHECK(rank->port < 30000);
  CHECK_FALSE(rank->store_is_served);
  CHECK(external(with(kSrun, "SLURM_RESTART_COUNT", "1"))->restarts == 1);
  CHECK(external(with(kSrun, "SLURM_LOCALID", "1"))->local_rank == 1);
}

TEST_CASE("external rank: mpirun's, which does not say where rank 0 is") {
  const Environment one_host{{"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  CHECK(external(one_host)->address == "127.0.0.1");
  const auto two_hosts = with(one_host, "OMPI_COMM_WORLD_LOCAL_SIZE", "1");
  CHECK_THROWS_WITH_AS(external(two_hosts),
                       "launch: mpirun does not say where rank 0 is; give its host to all ranks: "
                       "mpirun -x MASTER_ADDR=HOST",
                       Error);
  CHECK(external(with(two_hosts, "MASTER_ADDR", "head"))->address == "head");
}

TEST_CASE("external rank: a machine's ranks stand behind those of the machines before it") {
  const LocalRanks ranks = ranks_of_machine({3, 4, 2, "box:29500"});
  CHECK(ranks.rank == 8);
  CHECK(ranks.ranks_here == 4);
  CHECK(ranks.world_size == 12);
  CHECK(ranks.address == "box");
  CHECK(ranks.port == 29500);
  CHECK(ranks.restarts_here);
  CHECK(ranks_of_machine({2, 1, 0, "[fd00::1]:1"}).address == "fd00::1");
  for (const char* endpoint : {"", "box", ":1", "box:", "box:0", "box:70000", "box:1x"})
    CHECK_THROWS_AS(ranks_of_machine({2, 1, 0, endpoint}), Error);
  CHECK_THROWS_AS(ranks_of_machine({2, 1, -1, "box:1"}), Error);
  CHECK_THROWS_WITH_AS(ranks_of_machine({int64_t{1} << 62, 4, 0, "box:1"}),
                       "command line: --nnodes times --nproc-per-node is more than 1048576 ranks",
                       Error);
}

TEST_CASE("external rank: what is missing or makes no sense is named") {
  Environment lost = kTorchrun;
  lost.erase("MASTER_PORT");
  CHECK_THROWS_WITH_AS(external(lost),
                       "launch: this is a rank of an external launcher, but MASTER_PORT is not set",
                       Error);
  CHECK_THROWS_WITH_AS(external(with(kTorchrun, "WORLD_SIZE", "many")),
                       "launch: WORLD_SIZE must be a number, not 'many'", Error);
  for (const char* port : {"0", "65536", "99999", "-1", "http"})
    for (const Environment& launcher : {kTorchrun, kSrun})
      CHECK_THROWS_WITH_AS(
          external(with(launcher, "MASTER_PORT", port)),
          (std::string("launch: MASTER_PORT must be a port, from 1 to 65535, not '") + port + "'")
              .c_str(),
          Error);
  CHECK(external(with(kTorchrun, "MASTER_PORT", "65535"))->port == 65535);
  CHECK_THROWS_WITH_AS(external(with(kTorchrun, "RANK", "8")),
                       "launch: rank 8 of 8 ranks does not exist: ranks are numbered from 0",
                       Error);
}
