#include "recipe/section.h"

#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>

#include "recipes.h"

using namespace exprun;

TEST_CASE("section: typed values of a resolved recipe") {
  const ResolvedRecipe recipe = resolve_tiny({"lr=1", "warmup=5 steps", "tags=[a, b]"});
  const Section optimizer = recipe.section("optimizer");
  CHECK(optimizer.type() == "adamw");
  CHECK(optimizer.path() == "optimizer");
  CHECK(optimizer.get<double>("lr") == 1.0);
  CHECK(optimizer.get<std::vector<double>>("betas") == std::vector<double>{0.9, 0.95});
  CHECK(recipe.section("schedule").get<Period>("warmup") == Period{5, PeriodUnit::steps});
  CHECK(recipe.section("run").get<bool>("deterministic") == false);
  CHECK(recipe.section("run").get<int64_t>("seed") == 1337);
  CHECK(recipe.section("evaluation").table("val_loss").path() == "evaluation.val_loss");
  CHECK(recipe.section("sweep").keys().empty());
}

TEST_CASE("section: one path stands for a list of it") {
  const ResolvedRecipe recipe = resolve_tiny();
  CHECK(recipe.section("dataset").get<std::vector<std::string>>("path") ==
        std::vector<std::string>{"data/*.txt"});
}

TEST_CASE("section: absent keys, and auto that nobody could fill in") {
  const ResolvedRecipe recipe = resolve_tiny();
  CHECK(recipe.section("run").find<double>("max_minutes") == std::nullopt);
  CHECK(recipe.section("run").find<int64_t>("threads") == std::nullopt);
  CHECK(recipe.section("run").find<std::string>("device") == "auto");
  CHECK_FALSE(recipe.section("run").has("max_minutes"));
}

TEST_CASE("section: an undeclared key is a bug that names the schema file") {
  const ResolvedRecipe recipe = resolve_tiny();
  CHECK_THROWS_WITH_AS(recipe.section("optimizer").get<double>("momentum"),
                       "section: 'momentum' of [optimizer] is not declared in "
                       "schemas/optimizer/adamw.schema.json",
                       std::logic_error);
  CHECK_THROWS_WITH_AS(recipe.section("run").get<int64_t>("name"),
                       "section: run.name is read as an integer but is a string", std::logic_error);
  CHECK_THROWS_WITH_AS(recipe.section("optimiser"), "recipe: there is no table [optimiser]",
                       std::logic_error);
}

TEST_CASE("section: what nobody reads in a sub-table is known once that is read") {
  const ResolvedRecipe recipe = resolve_tiny();
  const Section model = recipe.section("model");
  const auto of_norm = [&] {
    auto keys = model.unread();
    std::erase_if(keys, [](const std::string& key) { return !key.starts_with("norm"); });
    return keys;
  };
  CHECK(of_norm() == std::vector<std::string>{"norm"});
  model.table("norm").get<double>("eps");
  // A type is the table's own.
  CHECK(of_norm() == std::vector<std::string>{"norm.weight", "norm.placement"});
}

TEST_CASE("section: what nobody reads is known") {
  const ResolvedRecipe recipe = resolve_tiny();
  const Section schedule = recipe.section("schedule");
  const Section copy = schedule;
  copy.get<Period>("warmup");
  schedule.get<std::string>("warmup_form");
  CHECK(schedule.unread() == std::vector<std::string>{"decay_until", "min_lr_factor"});
}

TEST_CASE("section: a late mistake points at the recipe") {
  const ResolvedRecipe recipe = resolve_tiny({"vocab_size=300"});
  const RecipeError in_override =
      recipe.section("model").error("vocab_size", "token id 400 >= vocab_size 300", "hm");
  CHECK(std::string(in_override.what()) ==
        "<override 1>:1:12: error: token id 400 >= vocab_size 300\n"
        "    vocab_size=300\n"
        "               ^^^ hm\n");
  const RecipeError at_default = recipe.section("model").error("dropout", "no");
  CHECK(std::string(at_default.what()) ==
        "recipes/tiny.toml:4:1: error: no\n    [model]\n    ^^^^^^^\n");
}
