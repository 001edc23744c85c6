#include "base/files/checkpoints.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/diagnostic.h"
#include "support/temporary_folder.h"

using namespace exprun;
namespace fs = std::filesystem;

TEST_CASE("checkpoint at: a path names a run and a step by its form") {
  for (const char* path :
       {"runs/mine-1a/checkpoints/step_00000300", "runs/mine-1a/checkpoints/step_00000300/",
        "runs/mine-1a/checkpoints//step_300//"}) {
    CAPTURE(path);
    const auto found = checkpoint_at(path);
    REQUIRE(found);
    CHECK(found->run.path == fs::path("runs/mine-1a"));
    CHECK(found->step == 300);
  }
  for (const char* path : {"", "/", "@last", "mine-1a", "runs/mine-1a", "runs/mine-1a/checkpoints",
                           "runs/mine-1a/checkpoints/last", "runs/mine-1a/checkpoints/step_x",
                           "runs/mine-1a/step_00000300", "/checkpoints/step_00000300"}) {
    CAPTURE(path);
    CHECK_FALSE(checkpoint_at(path));
  }
}

TEST_CASE("checkpoint at: where the run's name is not written, its path is absolute") {
  const auto here = fs::current_path();
  for (const char* path : {"checkpoints/step_7", "checkpoints/step_7/.", "./checkpoints/step_7"}) {
    CAPTURE(path);
    const auto found = checkpoint_at(path);
    REQUIRE(found);
    CHECK(found->run.path == here);
  }
}

TEST_CASE("checkpoint at: a file in a checkpoint names it, a word that is no file there does not") {
  const TemporaryFolder folder;
  const auto file = folder.write("run/checkpoints/step_00000003/model.safetensors", "");
  const auto found = checkpoint_at(file);
  REQUIRE(found);
  CHECK(found->run.path == folder.path() / "run");
  CHECK(found->step == 3);
  CHECK_FALSE(checkpoint_at(file.parent_path() / "@last"));
}

TEST_CASE("checkpoint facts: the recipe and the best step of its state, nothing of a damaged one") {
  const TemporaryFolder folder;
  const auto facts = [&](const char* state) {
    return checkpoint_facts(folder.write("state.json", state).parent_path());
  };
  CHECK(facts(R"({"recipe_hash": "ab", "best": {"value": 2.5, "step": 30}})").recipe_hash == "ab");
  CHECK(facts(R"({"recipe_hash": "ab", "best": {"value": 2.5, "step": 30}})").best_step == 30);
  CHECK_FALSE(facts(R"({"recipe_hash": "ab", "best": null})").best_step);
  CHECK(facts(R"({"recipe_hash": "a)").recipe_hash.empty());
  CHECK_THROWS_AS(checkpoint_facts(folder.path() / "none"), Error);
}
