#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "control/sweep/trials.h"

using namespace exprun;

namespace {

RecipeText recipe(const std::string& more = "") {
  const std::string text =
      "[run]\nname = \"tiny\"\nsteps = 10\n"
      "[model]\ntype = \"gpt\"\nnum_layers = 2\nnum_heads = 2\nhidden_size = 16\n"
      "context_length = 8\n"
      "[dataset]\ntype = \"text\"\npath = \"a.txt\"\ntokenizer = \"byte\"\n"
      "[batch]\nsequences = 2\n[optimizer]\ntype = \"adamw\"\nlr = 1e-3\n";
  return {{std::make_shared<SourceFile>(SourceFile{"tiny.toml", text + more})}, {}};
}

std::vector<std::string> labels(const SweepPlan& plan) {
  std::vector<std::string> labels;
  for (const Trial& trial : plan.trials) labels.push_back(label(trial));
  return labels;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("sweep: every combination is a trial, the last axis fastest") {
  const SweepPlan plan = plan_sweep(recipe(), {"lr=1e-4,3e-4", "num_layers=2,4"});
  CHECK(labels(plan) == Labels{"lr=1e-4 num_layers=2", "lr=1e-4 num_layers=4",
                               "lr=3e-4 num_layers=2", "lr=3e-4 num_layers=4"});
  CHECK(plan.trials[3].number == 4);
  CHECK(*plan.trials[3].resolved.find("model.num_layers")->as<int64_t>() == 4);
}

TEST_CASE("sweep: a trial is the same recipe as the plain run with these overrides") {
  const SweepPlan plan = plan_sweep(recipe(), {"lr=1e-4,3e-4"});
  RecipeText plain = recipe();
  plain.overrides = {"optimizer.lr=3e-4"};
  CHECK(plan.trials[1].resolved.hash() == resolve(plain).hash());
}

TEST_CASE("sweep: one value is a change of all trials and names none") {
  const SweepPlan plan = plan_sweep(recipe(), {"seed=1,2", "lr=0.5"});
  CHECK(labels(plan) == Labels{"seed=1", "seed=2"});
  CHECK(*plan.trials[0].resolved.find("optimizer.lr")->as<double>() == 0.5);
}

TEST_CASE("sweep: points that come to the same recipe are one trial") {
  CHECK(labels(plan_sweep(recipe(), {"lr=1e-3,0.001,0.002"})) == Labels{"lr=1e-3", "lr=0.002"});
}

TEST_CASE("sweep: the recipe's axes, and the command line's, which win") {
  const RecipeText with_sweep = recipe(
      "[sweep]\nmetric = \"val/accuracy\"\ngoal = \"maximize\"\n"
      "[sweep.axes]\n\"optimizer.lr\" = [0.1, 0.2]\n\"run.seed\" = [1, 2]\n");
  const SweepPlan plan = plan_sweep(with_sweep, {"lr=0.3"});
  CHECK(labels(plan) == Labels{"run.seed=1", "run.seed=2"});
  CHECK(plan.metric == "val/accuracy");
  CHECK(plan.maximize);
  RecipeText plain = recipe();
  plain.overrides = {"lr=0.3", "seed=2"};
  CHECK(plan.trials[1].resolved.hash() == resolve(plain).hash());
}

TEST_CASE("sweep: the same trials are the same sweep") {
  const std::string space = space_json(plan_sweep(recipe(), {"lr=1e-4,3e-4"}));
  CHECK(space == space_json(plan_sweep(recipe(), {"lr=1e-4,3e-4"})));
  CHECK(space == space_json(plan_sweep(recipe(), {"optimizer.lr=0.0001,0.0003"})));
  CHECK(space != space_json(plan_sweep(recipe(), {"lr=1e-4,3e-4", "seed=5"})));
}

TEST_CASE("sweep: nothing to sweep, and a point that is no recipe") {
  CHECK_THROWS_WITH_AS(plan_sweep(recipe(), {"lr=1e-4"}),
                       "sweep: nothing to sweep; give a key several values: lr=1e-4,3e-4", Error);
  CHECK_THROWS_AS(plan_sweep(recipe(), {"lr=1e-4,abc"}), RecipeError);
}
