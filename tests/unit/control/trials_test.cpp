#include "control/sweep/trials.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "tests/unit/recipe/recipes.h"

using namespace exprun;

namespace {

RecipeText recipe(const std::string& more = "") {
  return recipe_text(kTinyRecipe + more);
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

TEST_CASE("sweep: a value for all trials may be one that makes no other run") {
  CHECK(plan_sweep(recipe(), {"lr=1e-3,2e-3", "world_size=2"}).trials.size() == 2);
}

TEST_CASE("sweep: the command line may remove the space of the recipe") {
  const RecipeText text = recipe("[sweep]\naxes.lr = [1, 2]\naxes.num_layers = [2, 4]\n");
  for (const char* removed : {"~sweep", "~sweep.axes"}) {
    CHECK(labels(plan_sweep(text, {removed, "seed=1,2"})) == Labels{"seed=1", "seed=2"});
    CHECK_THROWS_WITH_AS(plan_sweep(text, {removed}),
                         "sweep: nothing to sweep; give a key several values: lr=1e-4,3e-4", Error);
  }
  CHECK(labels(plan_sweep(text, {"~sweep.axes.num_layers"})) == Labels{"lr=1", "lr=2"});
  for (const auto& words : {std::vector<std::string>{"method=random", "trials=3", "~sweep"},
                            {"~sweep", "method=random", "trials=3"}}) {
    std::vector<std::string> changes = words;
    changes.push_back("lr=1,2,3,4,5");
    CHECK(plan_sweep(text, changes).trials.size() == 3);
  }
}

// What is said of the metric of these tables, on the command line as in the recipe.
std::string said_of_metric(const std::string& tables, const std::vector<std::string>& changes) {
  std::string said;
  for (const Diagnostic& each : survey_sweep(recipe(tables), changes).diagnostics)
    said += each.message + "; " + each.help + '\n';
  return said;
}

TEST_CASE("sweep: a metric that it names is one that some trial records") {
  CHECK(said_of_metric("", {"lr=0.1,0.2", "metric=train/loss"}) == "");
  CHECK(said_of_metric("", {"lr=0.1,0.2", "metric=system/rss"}) == "");
  CHECK(said_of_metric("", {"lr=0.1,0.2", "metric=val/los"}) ==
        "no trial records 'val/los'; did you mean 'val/loss'?\n");
  for (const char* change : {"metrics.val_loss=true", "metrics.val_loss=true,false"}) {
    CHECK(said_of_metric("[metrics]\nval_loss = false\n", {change, "lr=0.1,0.2"}) == "");
    CHECK(said_of_metric("", {change, "lr=0.1,0.2", "metric=val/los"}) ==
          "no trial records 'val/los'; did you mean 'val/loss'?\n");
  }
}

TEST_CASE("sweep: where nobody names a metric and no trial records one, that is a warning") {
  const std::string warning =
      "no trial records 'val/loss', so none of them will be the best; metric=train/loss ranks "
      "them by that\n";
  const std::string none = "[metrics]\nval_loss = false\n",
                    axes = "[sweep.axes]\nlr = [0.1, 0.2]\n";
  CHECK(said_of_metric(none, {"lr=0.1,0.2"}) == warning);
  CHECK(said_of_metric(none + axes, {}) == warning);
  CHECK(said_of_metric(none + axes, {"metrics.val_loss=false"}) == warning);
  CHECK(said_of_metric(axes, {"metrics.val_loss=false"}) == warning);
  CHECK(said_of_metric(axes, {}) == "");
  const std::string rule = "[sweep]\naxes.lr = [0.1, 0.2]\nearly_stop.type = \"median\"\n";
  CHECK(said_of_metric(rule, {}) == "");
  CHECK(said_of_metric(none + rule, {}) ==
        "no trial records 'val/loss', by which early stopping compares them; metric=train/loss "
        "compares them by that\n");
  CHECK(said_of_metric(rule, {"best_metric=val/los"}) ==
        "no evaluation measures 'val/los'; did you mean 'val/loss'?\n");
  CHECK(said_of_metric(none + rule, {"metric=train/loss"}) == "");
}

TEST_CASE("sweep: the seeds of a point are counted, whoever asks for them") {
  CHECK(plan_sweep(recipe(), {"lr=1,2"}).seeds == 1);
  CHECK(plan_sweep(recipe(), {"lr=1,2", "seed=7"}).seeds == 1);
  CHECK(plan_sweep(recipe(), {"lr=1,2", "seed=range(3)"}).seeds == 3);
  CHECK(plan_sweep(recipe("[sweep.axes]\n\"run.seed\" = [1, 2]\n"), {}).seeds == 2);
  SearchOptions options;
  options.seeds = 4;
  CHECK(plan_sweep(recipe(), {"lr=1,2"}, options).seeds == 4);
}

TEST_CASE("sweep: early stopping of the recipe, and of the command line, which wins") {
  const RecipeText with_rule = recipe(
      "[sweep]\nsummary = \"last\"\n[sweep.axes]\n\"optimizer.lr\" = [0.1, 0.2]\n"
      "[sweep.early_stop]\ntype = \"median\"\nmin_steps = 3\n");
  const SweepPlan written = plan_sweep(with_rule, {});
  CHECK(written.early_stop.rule == EarlyStop::Rule::median);
  CHECK(written.early_stop.reduction == 4);
  CHECK(written.early_stop.min_steps == 3);
  CHECK(written.summary == Summary::last);

  SearchOptions options;
  options.early_stop = "asha";
  options.reduction = 2;
  options.summary = "min";
  const SweepPlan given = plan_sweep(with_rule, {}, options);
  CHECK(given.early_stop.rule == EarlyStop::Rule::asha);
  CHECK(given.early_stop.reduction == 2);
  CHECK(given.early_stop.min_steps == 3);
  CHECK(given.summary == Summary::min);

  options = {};
  options.early_stop = "none";
  CHECK(plan_sweep(with_rule, {}, options).early_stop.rule == EarlyStop::Rule::none);
  CHECK(plan_sweep(recipe(), {"lr=1,2"}).early_stop.rule == EarlyStop::Rule::none);
}

TEST_CASE("sweep: how often a trial records the metric is its own") {
  SearchOptions options;
  options.early_stop = "asha";
  const SweepPlan plan =
      plan_sweep(recipe(), {"evaluation.val_loss.every='10 steps','40 steps'"}, options);
  REQUIRE(plan.trials.size() == 2);
  CHECK(plan.trials[0].every == 10);
  CHECK(plan.trials[1].every == 40);
}

TEST_CASE("sweep: of far too many points some are checked, and none is a trial" *
          doctest::test_suite("exhaustive")) {
  const SweepSurvey survey =
      survey_sweep(recipe(), {"lr=linspace(0.1,1,100000)", "weight_decay=linspace(0.1,1,100000)"});
  CHECK(survey.plan.trials.empty());
  REQUIRE(!survey.diagnostics.empty());
  CHECK(survey.diagnostics.front().message ==
        "the axes up to 'weight_decay' make 10,000,000,000 trials");
}

TEST_CASE("sweep: points that come to the same recipe are one trial") {
  CHECK(labels(plan_sweep(recipe(), {"lr=1e-3,0.001,0.002"})) == Labels{"lr=1e-3", "lr=0.002"});
}

TEST_CASE("sweep: the recipe's axes, and the command line's, which win") {
  const RecipeText with_sweep = recipe(
      "[sweep]\nmetric = \"train/loss\"\ngoal = \"maximize\"\n"
      "[sweep.axes]\n\"optimizer.lr\" = [0.1, 0.2]\n\"run.seed\" = [1, 2]\n");
  const SweepPlan plan = plan_sweep(with_sweep, {"lr=0.3"});
  CHECK(labels(plan) == Labels{"run.seed=1", "run.seed=2"});
  CHECK(plan.metric == "train/loss");
  CHECK(plan.maximize);
  RecipeText plain = recipe();
  plain.overrides = {"lr=0.3", "seed=2"};
  CHECK(plan.trials[1].resolved.hash() == resolve(plain).hash());
}

TEST_CASE("sweep: a key is given once, however it is spelled") {
  const SweepSurvey survey =
      survey_sweep(recipe(), {"lr=1e-3,1e-2", "optimizer.lr=3e-3,4e-3", "lr=1"});
  CHECK(survey.plan.trials.empty());
  CHECK(render(survey.diagnostics) ==
        "<override 2>:1:1: error: 'optimizer.lr' is given twice\n"
        "    optimizer.lr=3e-3,4e-3\n"
        "    ^^^^^^^^^^^^ 'lr' is the same key; give all its values there\n"
        "<override 3>:1:1: error: 'lr' is given twice\n"
        "    lr=1\n"
        "    ^^ give all its values together: lr=a,b\n");
  CHECK_THROWS_AS(plan_sweep(recipe("[sweep.axes]\nlr = [1]\n\"optimizer.lr\" = [2, 3]\n"), {}),
                  RecipeError);
  CHECK_THROWS_AS(plan_sweep(recipe(), {"weight_decay=1,2", "~optimizer.weight_decay"}),
                  RecipeError);
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

TEST_CASE("sweep: the keys of a recipe's axes are those of a command line") {
  const std::string axes =
      "tokens = [16]\n\"schedule.type\" = [\"wsd\"]\ndecay_length = [\"2 steps\"]\n";
  RecipeText tokens = recipe("[sweep.axes]\n" + axes);
  tokens.overrides = {"~batch.sequences"};
  const SweepPlan plan = plan_sweep(tokens, {});
  REQUIRE(plan.trials.size() == 1);
  CHECK(toml_text(*plan.trials[0].resolved.find("batch.tokens")) == "16");
}

TEST_CASE("sweep: what linspace and logspace compute for a key of integers is rounded") {
  CHECK(labels(plan_sweep(recipe(), {"num_layers=linspace(2,8,5)"})) ==
        Labels{"num_layers=2", "num_layers=4", "num_layers=5", "num_layers=7", "num_layers=8"});
  CHECK(labels(plan_sweep(recipe(), {"steps=logspace(100,1000,5)"})) ==
        Labels{"steps=100", "steps=178", "steps=316", "steps=562", "steps=1000"});
  CHECK(labels(plan_sweep(recipe(), {"steps=logspace(1000,1000000,2)"})) ==
        Labels{"steps=1000", "steps=1000000"});
  CHECK(labels(plan_sweep(recipe(), {"num_layers=linspace(2,4,5)"})) ==
        Labels{"num_layers=2", "num_layers=3", "num_layers=4"});
  CHECK(labels(plan_sweep(recipe(), {"zip(num_layers=linspace(1,2,3), lr=linspace(0.1,0.2,3))"})) ==
        Labels{"num_layers=1 lr=0.1", "num_layers=2 lr=0.15", "num_layers=2 lr=0.2"});
  CHECK(labels(plan_sweep(recipe("[sweep.axes]\nnum_layers = \"linspace(2,3,3)\"\n"), {})) ==
        Labels{"num_layers=2", "num_layers=3"});
  CHECK_THROWS_AS(plan_sweep(recipe(), {"num_layers=linspace(1.5,3,2)"}), RecipeError);
  CHECK(render(survey_sweep(recipe(), {"steps=linspace(1,1e30,3)"}).diagnostics).find("-922") ==
        std::string::npos);
  CHECK(labels(plan_sweep(recipe(), {"num_layers=2,2,3"})) ==
        Labels{"num_layers=2", "num_layers=3"});
}

namespace {

std::string mistakes(const RecipeText& text, const std::vector<std::string>& arguments) {
  return render(survey_sweep(text, arguments).diagnostics);
}

}  // namespace

TEST_CASE("sweep: a mistake in one axis hides no mistake in the others") {
  CHECK(mistakes(recipe(), {"lr=range(5,1)", "num_layers=1,-2", "foo=1,2"}) ==
        "<override 1>:1:4: error: the range is empty\n"
        "    lr=range(5,1)\n"
        "       ^^^^^^^^^^ its values go from start to just before stop; swap them, or change "
        "the sign of the step\n"
        "<override 2>:1:14: error: 'num_layers' must be >= 1\n"
        "    num_layers=1,-2\n"
        "                 ^^\n"
        "<override 3>:1:1: error: unknown key 'foo'\n"
        "    foo=1,2\n"
        "    ^^^ `exprun schema` names the tables of a recipe\n");
}

TEST_CASE("sweep: a warning of every point is said once") {
  const SweepSurvey survey = survey_sweep(recipe(), {"lr=1e-3,1e-2", "checkpoint.every=200 steps"});
  CHECK(survey.plan.trials.size() == 2);
  CHECK(render(survey.diagnostics) ==
        "<override 2>:1:18: warning: 'checkpoint.every' is longer than the run\n"
        "    checkpoint.every=200 steps\n"
        "                     ^^^^^^^^^ the run has 100 steps\n");
}

TEST_CASE("sweep: the data of every point are looked at, and what they tell is known") {
  std::vector<std::string> seen;
  const auto glance = [&](const Resolution& resolution) {
    const auto* path = resolution.recipe.find("dataset.path");
    seen.push_back(toml_text(*path));
    return DataGlance{{{path->where, "no such file", "", {}, Severity::warning}}, {}};
  };
  const SweepSurvey survey = survey_sweep(recipe(), {"dataset.path=b.txt,c.txt"}, glance);
  CHECK(seen == std::vector<std::string>{"\"b.txt\"", "\"c.txt\""});
  CHECK(render(survey.diagnostics) ==
        "<override 1>:1:14: warning: no such file\n"
        "    dataset.path=b.txt,c.txt\n"
        "                 ^^^^^\n"
        "<override 1>:1:20: warning: no such file\n"
        "    dataset.path=b.txt,c.txt\n"
        "                       ^^^^^\n");
}

TEST_CASE("sweep: of many mistakes the first are said, and how many there are") {
  const SweepSurvey survey = survey_sweep(recipe(), {"hidden_size=range(17,641)", "num_heads=16"});
  REQUIRE(survey.diagnostics.size() == kMostDiagnostics + 1);
  CHECK(survey.diagnostics.back().message == "385 more not shown");
}
