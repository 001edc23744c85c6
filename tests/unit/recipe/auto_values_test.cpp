#include "recipe/defaults/auto_values.h"

#include <doctest/doctest.h>

#include "recipe/toml/write.h"
#include "recipes.h"

using namespace exprun;

namespace {

std::string derived(std::vector<std::string> overrides, const std::string& path) {
  return value_at(resolve_tiny(std::move(overrides)), path);
}

}  // namespace

TEST_CASE("derive: the name of the run is the recipe's, made fit for a folder") {
  const auto name = [](const char* file) {
    return resolve(recipe_text(kTinyRecipe, {}, file)).section("run").get<std::string>("name");
  };
  CHECK(name("recipes/quick start.toml") == "quick_start");
  CHECK(name("a/b/.hidden.toml") == "_.hidden");
  CHECK(name("gpt2-124m.v2.toml") == "gpt2-124m.v2");
  CHECK(name("größe ☕.toml") == "größe__");
  CHECK(name("実験1、二.toml") == "実験1_二");
  CHECK(name("\xFF"
             "a.toml") == "_a");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "ß";
  CHECK(name(("x" + many + ".toml").c_str()) == "x" + many.substr(0, 126));
}

TEST_CASE("derive: sizes of the batch") {
  CHECK(derived({}, "batch.sequence_length") == "16");
  CHECK(derived({}, "batch.micro_batch") == "8");
  CHECK(derived({"sequence_length=4"}, "batch.sequence_length") == "4");
  CHECK(derived({"~batch.sequences", "batch.tokens=64"}, "batch.micro_batch") == "4");
  // 16,384 tokens are 1,024 sequences of 16; 1,500 sequences are two times 750.
  CHECK(derived({"batch.sequences=1500"}, "batch.micro_batch") == "750");
  CHECK(derived({"batch.sequences=2048"}, "batch.micro_batch") == "1024");
  CHECK(derived({"context_length=20000"}, "batch.micro_batch") == "1");
}

TEST_CASE("derive: parts of the run in the run's own unit") {
  CHECK(derived({}, "checkpoint.every") == "\"5 steps\"");
  CHECK(derived({}, "evaluation.val_loss.every") == "\"10 steps\"");
  CHECK(derived({}, "schedule.decay_until") == "\"100 steps\"");
  CHECK(derived({"steps=7"}, "checkpoint.every") == "\"1 step\"");
  CHECK(derived({"~run.steps", "length=10 epochs"}, "checkpoint.every") == "\"0.5 epochs\"");
  CHECK(derived({"~run.steps", "length=1B tokens"}, "checkpoint.every") == "\"50M tokens\"");
  CHECK(derived({"evaluation.sample.samples=1"}, "evaluation.sample.every") == "\"100 steps\"");
  CHECK(derived({"schedule.type=wsd"}, "schedule.decay_length") == "\"20 steps\"");
  CHECK(derived({"schedule.type=wsd", "decay_until=50 steps"}, "schedule.decay_length") ==
        "\"10 steps\"");
}

TEST_CASE("derive: the vocabulary is the tokenizer's, and auto until it is known") {
  CHECK(derived({}, "model.vocab_size") == "256");
  CHECK(derived({"tokenizer=char"}, "model.vocab_size") == "\"auto\"");
  CHECK(value_at(resolve_tiny({"tokenizer=char"}, {65, 1000, 100}), "model.vocab_size") == "65");
  CHECK(derived({"vocab_size=300"}, "model.vocab_size") == "300");
}

TEST_CASE("derive: what the machine decides stays auto") {
  for (const char* path :
       {"run.threads", "run.device", "parallelism.world_size", "evaluation.val_loss.tokens"})
    CHECK_MESSAGE(derived({}, path) == "\"auto\"", path);
}

TEST_CASE("derive: val_loss is the default evaluation where there are validation data") {
  CHECK(derived({}, "evaluation.val_loss.type") == "\"val_loss\"");
  CHECK(derived({"validation_fraction=0"}, "evaluation.val_loss") == "absent");
  // Another evaluation does not take its place.
  CHECK(derived({"evaluation.sample.samples=1"}, "evaluation.val_loss.type") == "\"val_loss\"");
  CHECK(derived({"evaluation.mine.type=val_loss"}, "evaluation.val_loss") == "absent");
  CHECK(derived({"metrics.val_loss=false"}, "evaluation") == "{}");
  const std::vector<std::string> shards = {"dataset.type=token_shards", "dataset.train=a.bin",
                                           "vocab_size=9"};
  CHECK(derived(shards, "evaluation.val_loss") == "absent");
}
