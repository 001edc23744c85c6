#include "recipe/overrides.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "recipe/toml/write.h"
#include "recipes.h"

using namespace exprun;

namespace {

std::string overridden(const std::string& override_, const std::string& path) {
  return value_at(resolve_tiny({override_}), path);
}

}  // namespace

TEST_CASE("overrides: full and short keys, TOML values") {
  CHECK(overridden("optimizer.lr=1e-2", "optimizer.lr") == "0.01");
  CHECK(overridden("lr=1", "optimizer.lr") == "1.0");
  CHECK(overridden("num_layers = 3", "model.num_layers") == "3");
  CHECK(overridden("betas=[0.8, 0.99]", "optimizer.betas") == "[0.8, 0.99]");
  CHECK(overridden("bias=false", "model.bias") == "false");
}

TEST_CASE("overrides: a short key is that of no evaluation and no group, if one only is") {
  const std::string sample = "evaluation.sample.prompt=a";
  CHECK(value_at(resolve_tiny({sample, "seed=7"}), "run.seed") == "7");
  CHECK(value_at(resolve_tiny({sample, "sample.seed=7"}), "evaluation.sample.seed") == "7");
  const std::string group = "optimizer.groups.all={match = [\"*\"], type = \"adamw\", lr = 1}";
  const auto recipe = resolve_tiny({group, "lr=0.5"});
  CHECK(value_at(recipe, "optimizer.lr") == "0.5");
  CHECK(value_at(recipe, "optimizer.groups.all.lr") == "1.0");
}

TEST_CASE("overrides: a short key is that of no table that could be there and is not") {
  CHECK(value_at(resolve_tiny({"dropout=0.5"}), "model.dropout") == "0.5");
  CHECK_THROWS_AS(resolve_tiny({"model.lora={rank = 2}", "dropout=0.5"}), RecipeError);
  CHECK(value_at(resolve_tiny({"model.lora={rank = 2}", "lora.dropout=0.5"}),
                 "model.lora.dropout") == "0.5");
}

TEST_CASE("overrides: what was found out stands where the user wrote what it means") {
  const auto found_out = [](std::vector<std::string> overrides) {
    RecipeText text = recipe_text(kTinyRecipe, std::move(overrides));
    text.found_out = 1;
    return resolve(text);
  };
  const std::string pinned = "run.steps=50";
  const auto recipe = found_out({pinned});
  CHECK(value_at(recipe, "run.steps") == "50");
  CHECK(recipe.find("run.steps")->where.file->name == "recipes/tiny.toml");
  CHECK(recipe.find("run.steps")->where.line == 2);
  const auto typed = found_out({"steps=20", pinned});
  CHECK(value_at(typed, "run.steps") == "50");
  CHECK(typed.find("run.steps")->where.file->name == "<override 1>");
  const auto unwritten = found_out({"parallelism.world_size=2"});
  CHECK(unwritten.find("parallelism.world_size")->where.file->name == "<automatic override 1>");
}

TEST_CASE("overrides: bare text for strings, periods, paths and lists of strings") {
  CHECK(overridden("warmup=5 steps", "schedule.warmup") == "\"5 steps\"");
  CHECK(overridden("checkpoint.every=30 min", "checkpoint.every") == "\"30 min\"");
  CHECK(overridden("path=data/a, b.txt", "dataset.path") == "\"data/a, b.txt\"");
  CHECK(overridden("path=[\"a\", \"b\"]", "dataset.path") == "[\"a\", \"b\"]");
  CHECK(overridden("name=2026", "run.name") == "\"2026\"");
  CHECK(overridden("name=\"quoted\"", "run.name") == "\"quoted\"");
  CHECK(overridden("tags=[a, b c]", "run.tags") == "[\"a\", \"b c\"]");
  CHECK(overridden("tags=[]", "run.tags") == "[]");
  CHECK(overridden("dataset.path=[a.txt, b.txt]", "dataset.path") == "[\"a.txt\", \"b.txt\"]");
  CHECK(overridden("dataset.separator=", "dataset.separator") == "\"\"");
  CHECK(overridden("evaluation.sample.prompt=a=b", "evaluation.sample.prompt") == "\"a=b\"");
  CHECK(overridden("threads=auto", "run.threads") == "\"auto\"");
  CHECK(overridden("threads=2", "run.threads") == "2");
}

TEST_CASE("overrides: a quoted element of a bare list is TOML") {
  CHECK(overridden("tags=[\"a b\", c]", "run.tags") == "[\"a b\", \"c\"]");
  CHECK(overridden("path=[README.md, \"a,b.md\" ]", "dataset.path") ==
        "[\"README.md\", \"a,b.md\"]");
  CHECK(overridden("tags=[a, 'b, \\c', \"d\\\"\", don't, ]", "run.tags") ==
        "[\"a\", \"b, \\\\c\", \"d\\\"\", \"don't\"]");
  CHECK(overridden("evaluation.sample.prompt=two\nlines", "evaluation.sample.prompt") ==
        "\"two\\nlines\"");
}

TEST_CASE("overrides: a second line is not dropped") {
  CHECK(error_of(recipe_text(kTinyRecipe, {"lr=1e-2\nweight_decay=3"})) ==
        "<override 1>:2:1: error: a value must be on one line, but a second line follows\n"
        "    weight_decay=3\n"
        "    ^^^^^^^^^^^^ write it as a separate override\n");
}

TEST_CASE("overrides: a named sub-table is made where it is missing") {
  CHECK(overridden("evaluation.sample.every=10 steps", "evaluation.sample.type") == "\"sample\"");
  const auto recipe =
      resolve_tiny({"optimizer.groups.all={match = [\"*\"], type = \"adamw\", lr = 1}"});
  CHECK(value_at(recipe, "optimizer.groups.all.weight_decay") == "0.1");
  CHECK(recipe.section("optimizer").table("groups").keys() == std::vector<std::string>{"all"});
}

TEST_CASE("overrides: + adds what only the user names") {
  CHECK(overridden("+evaluation.sample.every=10 steps", "evaluation.sample.every") ==
        "\"10 steps\"");
  CHECK(error_of(recipe_text(kTinyRecipe, {"+lr=3"})) ==
        "<override 1>:1:2: error: 'lr' already exists\n"
        "    +lr=3\n"
        "     ^^ write it without the '+'\n");
}

TEST_CASE("overrides: ~key goes back to the default") {
  const std::string text = kTinyRecipe + "weight_decay = 0.5\n[schedule]\nwarmup = \"3 steps\"\n";
  CHECK(value_at(resolve(recipe_text(text, {"~weight_decay"})), "optimizer.weight_decay") == "0.1");
  CHECK(value_at(resolve(recipe_text(text, {"~schedule"})), "schedule.warmup") == "\"0 steps\"");
  CHECK(value_at(resolve(recipe_text(text, {"~evaluation"})), "evaluation.val_loss.type") ==
        "\"val_loss\"");
}

TEST_CASE("overrides: the present type decides which keys there are, whatever the order") {
  CHECK(value_at(resolve_tiny({"decay_length=10 steps", "schedule.type=wsd"}),
                 "schedule.decay_length") == "\"10 steps\"");
  CHECK(value_at(
            resolve_tiny({"decay_length=10 steps", "schedule={type=\"wsd\", warmup=\"5 steps\"}"}),
            "schedule.decay_length") == "\"10 steps\"");
  // In a table too the type goes first, and the rest is the last of two changes, or not.
  CHECK(value_at(resolve_tiny({"lr=1", "optimizer={type=\"sgd\", lr=2}", "momentum=0.5"}),
                 "optimizer.lr") == "2.0");
  CHECK(value_at(resolve_tiny({"schedule={type=\"wsd\"}", "schedule.type=cosine"}),
                 "schedule.type") == "\"cosine\"");
  CHECK(value_at(resolve_tiny({"rope_theta=100", "model={position={type=\"rotary\"}}"}),
                 "model.position.type") == "\"rotary\"");
  CHECK(error_of(recipe_text(kTinyRecipe, {"decay_length=10 steps"})) ==
        "<override 1>:1:1: error: unknown key 'decay_length'\n"
        "    decay_length=10 steps\n"
        "    ^^^^^^^^^^^^ it belongs in [schedule] with type = \"wsd\"\n");
}

TEST_CASE("overrides: the last of two wins, and values say where they are from") {
  const ResolvedRecipe recipe = resolve_tiny({"lr=1e-2", "optimizer.lr=1e-1"});
  CHECK(value_at(recipe, "optimizer.lr") == "0.1");
  CHECK(recipe.find("optimizer.lr")->origin == Origin::command_line);
  CHECK(recipe.find("optimizer.lr")->where.file->name == "<override 2>");
  CHECK(recipe.find("optimizer.eps")->origin == Origin::default_value);
  CHECK(recipe.find("model.vocab_size")->origin == Origin::derived);
  CHECK(recipe.find("run.steps")->origin == Origin::file);
}

TEST_CASE("overrides: errors of the recipe stay at the recipe, not at an override beside them") {
  const std::string text = kTinyRecipe.substr(0, kTinyRecipe.find("lr ="));
  CHECK(error_of(recipe_text(text, {"weight_decay=0.2"})) ==
        "recipes/tiny.toml:18:2: error: [optimizer] needs 'lr'\n"
        "    [optimizer]\n"
        "     ^^^^^^^^^ peak learning rate, which the schedule scales\n");
}

TEST_CASE("overrides: a table may be named by its end, where no key has that name") {
  const std::string text = kTinyRecipe + "[evaluation.sample]\nevery = \"9 steps\"\n";
  CHECK(value_at(resolve(recipe_text(text, {"~sample"})), "evaluation.sample") == "absent");
  CHECK(value_at(resolve_tiny({"model.norm.type=rms_norm", "~norm"}), "model.norm.type") ==
        "\"layer_norm\"");
  CHECK(overridden("norm={type=\"rms_norm\"}", "model.norm.type") == "\"rms_norm\"");
  CHECK(value_at(resolve(recipe_text(text, {"+evaluation.lr.type=val_loss", "lr=7"})),
                 "optimizer.lr") == "7.0");
}

TEST_CASE(
    "overrides: a short key is stored whole, since a later table may have another of its name") {
  RecipeText text = recipe_text(
      kTinyRecipe, {"lr = 1e-2", "~weight_decay", "+evaluation.again.type=val_loss",
                    "metrics.val_loss=false", "position={type=\"rotary\"}", "rope_theta=100"});
  const ResolvedRecipe before = resolve(text);
  text.overrides = before.overrides();
  CHECK(text.overrides == std::vector<std::string>{
                              "optimizer.lr= 1e-2", "~optimizer.weight_decay",
                              "+evaluation.again.type=val_loss", "metrics.val_loss=false",
                              "model.position={type=\"rotary\"}", "model.position.rope_theta=100"});
  CHECK(resolve(RecipeText::from_json(text.to_json())).hash() == before.hash());
}
