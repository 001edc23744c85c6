#include "recipe/resolved.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/format_units.h"
#include "base/random.h"
#include "base/utf8.h"
#include "recipe/toml/write.h"
#include "recipes.h"

using namespace exprun;

namespace {

std::string hash(const std::string& text, std::vector<std::string> overrides = {}) {
  return resolve(recipe_text(text, std::move(overrides))).hash();
}

const std::string kHash = hash(kTinyRecipe);

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("identity: order, comments and the spelling of numbers play no part") {
  CHECK(kHash.size() == 32);
  const size_t model = kTinyRecipe.find("[model]");
  CHECK(hash(kTinyRecipe.substr(model) + "# end\n" + kTinyRecipe.substr(0, model)) == kHash);
  CHECK(hash(replaced(kTinyRecipe, "3e-4", "0.0003 # same")) == kHash);
  CHECK(hash(replaced(kTinyRecipe, "steps = 100", "steps = 1_00")) == kHash);
  CHECK(hash(replaced(kTinyRecipe, "num_layers = 2\nnum_heads = 2",
                      "num_heads = 0x2\nnum_layers = 2")) == kHash);
  const std::string one = hash(replaced(kTinyRecipe, "lr = 3e-4", "lr = 1"));
  CHECK(one == hash(replaced(kTinyRecipe, "lr = 3e-4", "lr = 1.0")));
  CHECK(hash(kTinyRecipe, {"warmup=1k tokens"}) == hash(kTinyRecipe, {"warmup=1_000 tokens"}));
}

TEST_CASE("identity: a default or derived value that is written is the same recipe") {
  CHECK(hash(kTinyRecipe, {"weight_decay=0.1", "betas=[0.9, 0.95]", "dropout=0"}) == kHash);
  CHECK(hash(kTinyRecipe, {"vocab_size=256", "sequence_length=16", "micro_batch=8"}) == kHash);
  CHECK(hash(kTinyRecipe, {"vocab_size=auto", "decay_until=100 steps"}) == kHash);
  CHECK(hash(kTinyRecipe + "[evaluation.val_loss]\n") == kHash);
  CHECK(hash(kTinyRecipe + "[schedule]\ntype = \"cosine\"\n[precision]\n") == kHash);
}

TEST_CASE("identity: names, tags and cadences of logs play no part") {
  CHECK(hash(kTinyRecipe, {"name=other", "tags=[a]", "checkpoint.every=7 steps", "keep_last=5",
                           "metrics.every=2 steps", "progress_every=9 steps", "max_minutes=3"}) ==
        kHash);
}

TEST_CASE("identity: everything else does") {
  for (const char* change :
       {"lr=1e-3", "seed=2", "steps=101", "order=sequential", "evaluation.sample.samples=2",
        "evaluation.sample.type=sample", "vocab_size=300", "schedule.type=constant", "bias=false",
        "micro_batch=4", "deterministic=true", "evaluation.val_loss.every=3 steps"})
    CHECK_MESSAGE(hash(kTinyRecipe, {change}) != kHash, change);
  CHECK(hash(kTinyRecipe, {"metrics.val_loss=false"}) != kHash);  // none instead of val_loss
}

TEST_CASE("identity: what the data tell does not change the hash") {
  const RecipeText text = recipe_text(kTinyRecipe, {"tokenizer=char"});
  const DatasetInfo dataset_info{65, 10000, 1000};
  CHECK(resolve(text, dataset_info).hash() == resolve(text).hash());
  CHECK(resolve(text, dataset_info).section("model").get<int64_t>("vocab_size") == 65);
  CHECK(resolve(text).section("model").find<int64_t>("vocab_size") == std::nullopt);
}

TEST_CASE("identity: a schema that gains a key keeps old hashes") {
  const SchemaSet more = SchemaSet::with({{"precision.schema.json",
                                           R"({"type": "object", "properties": {
             "compute": {"type": "string", "default": "fp32", "description": "d"},
             "parameters": {"type": "string", "default": "fp32", "description": "d"},
             "embedding": {"type": "string", "default": "fp32", "description": "new"}}})"}});
  const ResolvedRecipe recipe = resolve(recipe_text(kTinyRecipe), {}, more);
  CHECK(recipe.section("precision").get<std::string>("embedding") == "fp32");
  CHECK(recipe.hash() == kHash);
}

// The hashes are those of a program whose default was "minimize".
TEST_CASE("identity: a goal has the hash that it had before it followed from the metric") {
  const auto with_goal = [](const std::string& metric, const std::string& goal) {
    return hash(kTinyRecipe, {"evaluation.hellaswag.path=quiz.jsonl", "best_metric=" + metric,
                              "best_goal=" + goal});
  };
  CHECK(with_goal("hellaswag/acc", "minimize") == "a64040424590b67141607238c2f83ca9");
  CHECK(with_goal("hellaswag/acc", "maximize") == "eda32b4bfb5938677bc122ee4ded10ef");
  CHECK(with_goal("hellaswag/acc", "auto") == with_goal("hellaswag/acc", "maximize"));
  CHECK(with_goal("val/loss", "minimize") == "4fba575bd0b687c1891f759263e67138");
  CHECK(with_goal("val/loss", "maximize") == "e8a17d440bfd2bcc76235e4c4e21c81d");
  CHECK(with_goal("val/loss", "auto") == with_goal("val/loss", "minimize"));
  CHECK(hash(kTinyRecipe, {"best_goal=auto"}) == kHash);
}

TEST_CASE("identity: what is written reads back to the same recipe") {
  for (const std::vector<std::string>& overrides : std::vector<std::vector<std::string>>{
           {},
           {"schedule.type=wsd", "warmup=5 steps", "tags=[a, b]"},
           {"evaluation.hellaswag.path=quiz.jsonl", "best_metric=hellaswag/acc"},
           {"evaluation.sample.prompt=\"\\\"quoted\\\" \\n ü\"", "~run.steps", "length=2.5 epochs"},
           {"optimizer.groups.all={match = [\"*\"], type = \"adamw\", lr = 0.02}"}}) {
    const ResolvedRecipe recipe = resolve(recipe_text(kTinyRecipe, overrides));
    const ResolvedRecipe again = resolve(recipe_text(recipe.to_toml()));
    CHECK(again.hash() == recipe.hash());
    CHECK(again.to_toml() == recipe.to_toml());
  }
}

TEST_CASE("identity: texts of any characters and numbers of any size are read back as they were") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::string text;
    for (uint64_t i = 0; i < 1 + random_below(12, {seed, 1}); ++i) {
      const bool rare = random_below(2, {seed, 2, i}) == 0;
      const auto c = static_cast<char32_t>(1 + random_below(rare ? 0x10ffff : 0x7f, {seed, 3, i}));
      if (c < 0xd800 || c > 0xdfff) append_code_point(text, c);
    }
    // Exponents up to the ends of what a double can be.
    const double lr =
        std::ldexp(1 + static_cast<double>(random_below(1 << 20, {seed, 4})) / 1048576,
                   static_cast<int>(random_below(2000, {seed, 5})) - 1000);
    RecipeText recipe = recipe_text(kTinyRecipe, {"optimizer.lr=" + shortest(lr)});
    Value prompt(text, {}, Origin::file);
    recipe.overrides.push_back("evaluation.sample.prompt=" + toml_text(prompt));
    const ResolvedRecipe resolved = resolve(recipe);
    const ResolvedRecipe again = resolve(recipe_text(resolved.to_toml()));
    CAPTURE(resolved.to_toml());
    CHECK(again.hash() == resolved.hash());
    CHECK(*again.find("evaluation.sample.prompt")->as<std::string>() == text);
    CHECK(*again.find("optimizer.lr")->as<double>() == lr);
  }
}

TEST_CASE("identity: what the data told is written as auto, so that it stays the same recipe") {
  const RecipeText text = recipe_text(kTinyRecipe, {"tokenizer=char"});
  const ResolvedRecipe recipe = resolve(text, {65, 10000, 1000});
  CHECK(recipe.to_toml().find("vocab_size = \"auto\"") != std::string::npos);
  CHECK(resolve(recipe_text(recipe.to_toml())).hash() == recipe.hash());
}

TEST_CASE("identity: leaves are the parameters of a run") {
  const ResolvedRecipe recipe = resolve_tiny({"weight_decay=0.2", "name=other"});
  const auto changed = recipe.leaves(true);
  const auto has = [&](const auto& leaves, const char* path, const char* text) {
    return std::find(leaves.begin(), leaves.end(),
                     std::pair<std::string, std::string>(path, text)) != leaves.end();
  };
  CHECK(has(changed, "optimizer.weight_decay", "0.2"));
  CHECK(has(changed, "optimizer.lr", "0.0003"));
  CHECK_FALSE(has(changed, "optimizer.eps", "1e-8"));
  CHECK_FALSE(has(changed, "run.name", "\"other\""));
  CHECK(has(recipe.leaves(false), "optimizer.eps", "1e-8"));
  CHECK(has(recipe.leaves(false), "run.name", "\"other\""));
}

TEST_CASE("identity: differences name the keys and both values") {
  const ResolvedRecipe a = resolve_tiny({"weight_decay=0.2", "name=a"});
  const ResolvedRecipe b = resolve_tiny({"lr=0.01", "name=b", "evaluation.sample.samples=2"});
  CHECK(differences(resolve_tiny({"metrics.val_loss=false"}), resolve_tiny())[0].path ==
        "evaluation.val_loss.type");
  std::string text;
  for (const Difference& d : differences(a, b)) text += d.path + ": " + d.a + " -> " + d.b + "\n";
  CHECK(text ==
        "evaluation.sample.samples:  -> 2\n"
        "evaluation.sample.type:  -> \"sample\"\n"
        "optimizer.lr: 0.0003 -> 0.01\n"
        "optimizer.weight_decay: 0.2 -> 0.1\n");
  CHECK(differences(a, a).empty());
}
