// What a run was begun with is not refused to it by a rule that came later; its changes are.
#include "recipe/tolerance.h"

#include <doctest/doctest.h>

#include "recipes.h"

using namespace exprun;

namespace {

RecipeText stored(const RecipeText& text) {
  return RecipeText::from_json(text.to_json());
}

RecipeText changed(RecipeText text, const std::string& override_) {
  text.overrides.push_back(override_);
  return text;
}

// Overrides that are refused to a new run and that a trainer can do with.
const std::vector<std::vector<std::string>> kRefusedSince = {
    {"best_metric=\"val/lss\""},
    {"run.early_stop={patience = 3}", "metrics.val_loss=false"},
    {"evaluation.a={type = \"val_loss\"}", "evaluation.b={type = \"val_loss\"}"},
    {"run.name=" + std::string(130, 'x')},
    {"run.name=a b"},
    {"+evaluation.\"über\"={type = \"val_loss\"}"},
    {"+optimizer.groups." + std::string(70, 'g') +
     "={match = [\"wte\"], type = \"adamw\", lr = 1}"},
    {"dataset.separator=\\n\\n"},
    {"block_tokens=8", "validation_tokens=10"},
    {"dataset.template=text"},
    {"schedule.type=linear", "warmup=200 steps"},
    {"keep_last=1"},
    {"lr=-1"}};

const std::vector<std::string> kImpossible = {
    "num_heads=3",    "sequence_length=17",  "micro_batch=3",
    "num_layers=two", "optimizer.type=adan", "numlayers=2",
    "length=2",       "betas=[0.9]",         "dataset.template=a}"};

}  // namespace

TEST_CASE("tolerance: what is refused since is a warning to the run that began with it") {
  for (const std::vector<std::string>& overrides : kRefusedSince) {
    CAPTURE(overrides.front());
    const RecipeText text = recipe_text(kTinyRecipe, overrides);
    CHECK(error_of(text) != "");
    const ResolvedRecipe recipe = resolve(stored(text));
    REQUIRE(!recipe.warnings().empty());
    for (const Diagnostic& warning : recipe.warnings())
      CHECK(warning.message.ends_with("; a new run is refused for it"));
    CHECK(resolve(stored(stored(text))).hash() == recipe.hash());
    CHECK(error_of(changed(stored(text), "seed=7")) == "");
  }
}

TEST_CASE("tolerance: a warning of a text that begins as a table does is given once") {
  const RecipeText text = stored(recipe_text(kTinyRecipe, {"dataset.separator={\\n}"}));
  CHECK(resolve(text).warnings().size() == 1);
}

TEST_CASE("tolerance: a value counts for the rules over several tables") {
  const ResolvedRecipe recipe = resolve(stored(recipe_text(kTinyRecipe, {"lr=-1", "keep_last=1"})));
  CHECK(value_at(recipe, "optimizer.lr") == "-1.0");
  CHECK(value_at(recipe, "checkpoint.keep_last") == "1");
}

TEST_CASE("tolerance: what no trainer can do is refused to a stored recipe too") {
  for (const std::string& impossible : kImpossible) {
    CAPTURE(impossible);
    const RecipeText text = recipe_text(kTinyRecipe, {impossible});
    CHECK(error_of(text) != "");
    CHECK(error_of(stored(text)) == error_of(text));
  }
}

TEST_CASE("tolerance: a change of a stored recipe is judged as in a new one") {
  for (const std::vector<std::string>& overrides : kRefusedSince) {
    CAPTURE(overrides.back());
    RecipeText text = stored(recipe_text(kTinyRecipe, {overrides.begin(), overrides.end() - 1}));
    CHECK(error_of(changed(text, overrides.back())) != "");
  }
  CHECK(error_of(changed(stored(recipe_text(kTinyRecipe, {"lr=-1"})), "weight_decay=-1")) ==
        "<override 1>:1:4: warning: 'lr' must be > 0; a new run is refused for it\n"
        "    lr=-1\n"
        "       ^^\n"
        "<override 2>:1:14: error: 'weight_decay' must be >= 0\n"
        "    weight_decay=-1\n"
        "                 ^^\n");
}

TEST_CASE("tolerance: what a change makes wrong elsewhere is the change's mistake") {
  const RecipeText sound = stored(
      recipe_text(kTinyRecipe + "[evaluation.other]\ntype = \"hellaswag\"\npath = \"h.jsonl\"\n",
                  {"best_metric=hellaswag/acc", "tokenizer=gpt2"}));
  CHECK(error_of(sound) == "");
  CHECK(error_of(changed(sound, "~evaluation.other"))
            .find("no evaluation measures 'hellaswag/acc'") != std::string::npos);
}

TEST_CASE("tolerance: an override of the earlier run may be taken away from it") {
  RecipeText text = stored(recipe_text(kTinyRecipe, {"world_size=2", "lr=-1"}));
  text.overrides = {"lr=-1", "world_size=1"};
  CHECK(error_of(text) == "");
}
