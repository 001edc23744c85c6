#include "control/launch/provenance.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/process/program.h"
#include "support/temporary_folder.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

void shell(const fs::path& folder, const std::string& line) {
  const std::string whole = "cd '" + folder.string() +
                            "' && export HOME=/nowhere GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b "
                            "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; " +
                            line;
  REQUIRE(std::system(whole.c_str()) == 0);
}

}  // namespace

TEST_CASE("provenance: a folder outside a repository has no git state") {
  const TemporaryFolder folder;
  CHECK(!git_state(folder.path(), folder.path() / "runs"));
}

TEST_CASE("provenance: commit, diff and untracked files of a repository, from a folder below") {
  const TemporaryFolder folder;
  const fs::path below = folder.path() / "deep" / "er";
  const fs::path store = below / "[runs]";
  fs::create_directories(store);
  shell(folder.path(), "git init -q . && echo one > a.txt && git add a.txt");
  CHECK(git_state(below, store)->commit.empty());  // nothing is committed yet
  CHECK(git_state(below, store)->diff.find("+one") != std::string::npos);
  shell(folder.path(), "git commit -qm first && touch deep/er/[runs]/exprun.db");
  const auto clean = git_state(below, store);
  CHECK(clean->commit.size() == 40);
  CHECK(!clean->dirty());
  shell(folder.path(), "echo two >> a.txt; echo new > 'b c.txt'");
  const auto dirty = git_state(below, store);
  CHECK(dirty->commit == clean->commit);
  CHECK(dirty->dirty());
  CHECK(dirty->diff.find("+two") != std::string::npos);
  CHECK(dirty->untracked == std::vector<std::string>{"b c.txt"});
  CHECK(!dirty->untracked_is_cut);
  shell(folder.path(), "for i in $(seq 300); do touch new$i; done");
  const auto many = git_state(below, folder.path() / ".." / "elsewhere");
  CHECK(many->untracked.size() == 200);
  CHECK(many->untracked_is_cut);
}

TEST_CASE("provenance: a diff of megabytes is cut") {
  const TemporaryFolder folder;
  shell(folder.path(),
        "git init -q . && touch a.txt && git add . && git commit -qm first && "
        "head -c 5000000 /dev/zero | tr '\\0' 'x' | fold > a.txt");
  const auto state = git_state(folder.path(), folder.path() / "runs");
  CHECK(state->diff.size() == 1 << 20);
  CHECK(state->diff_is_cut);
}

TEST_CASE("provenance: which variables of the environment are recorded") {
  CHECK(is_recorded("OMP_NUM_THREADS", ""));
  CHECK(is_recorded("SLURM_JOB_ID", ""));
  CHECK(!is_recorded("AWS_SECRET_ACCESS_KEY", ""));
  CHECK(!is_recorded("HOME", "HOMER,MY_*"));
  CHECK(is_recorded("MY_CLUSTER", "HOMER,MY_*"));
}

TEST_CASE("provenance: the machine is described") {
  const Provenance provenance = gather_provenance("exprun a.toml lr=1", "/nowhere/runs");
  CHECK(provenance.version == version());
  const auto json = nlohmann::json::parse(provenance.environment_json);
  CHECK(json.at("command_line") == "exprun a.toml lr=1");
  CHECK(json.at("cpus") > 0);
  CHECK(json.at("memory_bytes") > 1'000'000);
  CHECK(!json.at("host").get<std::string>().empty());
}
