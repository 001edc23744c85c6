// Rules about keys or values that no shipped schema has as yet, on tables as they will be.
#include "recipe/rules/rules.h"

#include <doctest/doctest.h>

#include "recipe/toml/parse.h"
#include "recipes.h"

using namespace exprun;

namespace {

std::string said_by(Rule rule, const std::string& text) {
  Diagnostics diagnostics;
  const auto file = std::make_shared<SourceFile>(SourceFile{"r.toml", text});
  const auto root = parse_toml(file, Origin::file, diagnostics);
  REQUIRE(root);
  rule({SchemaSet::embedded(), *root, DatasetInfo{}}, diagnostics);
  return render(diagnostics);
}

}  // namespace

TEST_CASE("rules: a rank's share of the global batch is made of micro-batches") {
  const std::string text = "[parallelism]\nworld_size = 4\n[batch]\nsequences = ";
  CHECK(said_by(micro_batches_fill_batch, text + "32\nmicro_batch = 8\n").empty());
  CHECK_FALSE(said_by(micro_batches_fill_batch, text + "32\nmicro_batch = 16\n").empty());
}

TEST_CASE("rules: numbers that would fit are found, and do not overflow") {
  CHECK(near_divisors(9223372036854775783, 16) == "1 or 9223372036854775783 would work");
  CHECK(near_divisors(int64_t{1} << 62, 17) == "16 or 32 would work");
  CHECK(near_multiples(9000000000000000000, 9223372036854775807) ==
        "9000000000000000000 would work");
  CHECK(near_multiples(9000000000000000000, 3) == "9000000000000000000 would work");
}

TEST_CASE("rules: a rate of zero is no mistake where an average still settles") {
  const std::string decayed =
      kTinyRecipe + "[schedule]\ntype = \"cosine\"\ndecay_until = \"60 steps\"\n";
  CHECK(try_resolve(recipe_text(decayed)).diagnostics.size() == 1);
  CHECK(try_resolve(recipe_text(decayed, {"run.ema=0.9"})).diagnostics.empty());
  CHECK(try_resolve(recipe_text(decayed, {"min_lr_factor=0.1"})).diagnostics.empty());
}

TEST_CASE("rules: a run that ends within its warmup is shown as a recipe that runs") {
  const ResolvedRecipe recipe = resolve_tiny({"schedule.type=cosine", "warmup=200 steps"});
  CHECK(value_at(recipe, "schedule.decay_until") == "\"100 steps\"");
  const Diagnostics said = try_resolve(recipe_text(recipe.to_toml())).diagnostics;
  CHECK(said.size() == 1);
  CHECK_FALSE(has_errors(said));
}
