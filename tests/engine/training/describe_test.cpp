#include "engine/describe.h"

#include <doctest/doctest.h>

#include "base/diagnostic.h"
#include "engine/tiny_run.h"

namespace exprun {
namespace {

std::string request(const RecipeText& text, const nlohmann::json& dataset_info) {
  return nlohmann::json{{"recipe", nlohmann::json::parse(text.to_json())}, {"facts", dataset_info}}
      .dump();
}

constexpr const char* kCharacters = R"(
run = { steps = 5 }
model = { type = "gpt", num_layers = 1, num_heads = 1, hidden_size = 8, context_length = 8 }
dataset = { type = "text", path = "a.txt", tokenizer = "char" }
batch = { sequences = 1 }
optimizer = { type = "adamw", lr = 1e-3 }
)";

const nlohmann::json kFacts{
    {"vocab_size", kTinyVocabulary}, {"train_tokens", 3000}, {"validation_tokens", 500}};

TEST_CASE("describe: the plan of a run is the run's, without data or memory") {
  const TinyRun run({"bias=false", "run.length=\"2 epochs\""}, SchemaSet::embedded(),
                    {"steps = 40\n", ""});
  const Pipeline pipeline = run.build();
  const auto plan = describe(request(run.text, kFacts));

  const int64_t count = pipeline.train_state.parameters->count();
  CHECK(plan["parameters"] == count);
  int64_t in_parts = 0;
  for (const auto& part : plan["parameters_by_part"]) in_parts += part["count"].get<int64_t>();
  CHECK(in_parts == count);
  CHECK(plan["parameters_by_part"][0]["name"] == "token_embedding");
  CHECK(plan["parameters_by_part"][0]["count"] == kTinyVocabulary * 32);
  CHECK(plan["groups"][0]["optimizer"] == "adamw");
  CHECK(plan["groups"][0]["parameters"] == count);
  CHECK(plan["groups"][0]["decayed"].get<int64_t>() < count);
  CHECK(plan["steps"] == pipeline.plan.timeline.steps);
  CHECK(plan["steps"] == 47);  // 2 * 2992 / 128
  CHECK(plan["tokens_per_step"] == 128);
  CHECK(plan["gradient_accumulation"] == 2);
  CHECK(plan["memory"]["weights"] == count * 4);
  CHECK(plan["memory"]["optimizer"] == count * 8);
  CHECK(plan["checkpoint_bytes"] == count * 12);
  CHECK(plan["memory"]["checkpoint_copy"] == count * 12);
  auto on_gpu = nlohmann::json::parse(request(run.text, kFacts));
  on_gpu["device"] = "cuda";
  CHECK(describe(on_gpu.dump())["memory"]["checkpoint_copy"] == 0);
}

TEST_CASE("describe: gradients and state over bf16 weights are counted in their own formats") {
  const auto plan = [](const std::vector<std::string>& words) {
    return describe(request(TinyRun(words).text, kFacts));
  };
  const auto wide = plan({"bias=false", "parameters=bf16"});
  const auto narrow =
      plan({"bias=false", "parameters=bf16", "gradients=bf16", "optimizer_state=bf16"});
  const auto count = wide["parameters"].get<int64_t>();
  CHECK(wide["memory"]["weights"] == count * 2);
  CHECK(wide["memory"]["gradients"] == count * 4);
  CHECK(wide["memory"]["optimizer"] == count * 8);
  CHECK(wide["checkpoint_bytes"] == count * 10);
  CHECK(narrow["memory"]["gradients"] == count * 2);
  CHECK(narrow["memory"]["optimizer"] == count * 4);
  CHECK(narrow["checkpoint_bytes"] == count * 6);
}

TEST_CASE("describe: with ZeRO-1 a rank has its part of the optimizer's memory") {
  const TinyRun run({"world_size=2", "strategy=zero1"});
  const auto plan = describe(request(run.text, kFacts));
  const auto count = plan["parameters"].get<int64_t>();
  CHECK(plan["memory"]["weights"] == count * 4);
  CHECK(plan["memory"]["optimizer"].get<int64_t>() >= count * 4);
  CHECK(plan["memory"]["optimizer"].get<int64_t>() < count * 4 + 2 * 2 * 64 * 64);  // padding
  CHECK(plan["memory"]["checkpoint_copy"] == plan["checkpoint_bytes"]);  // of rank 0, which has all
  CHECK(plan["checkpoint_bytes"] == count * 12);
  CHECK(plan["gradient_accumulation"] == 1);
}

TEST_CASE("describe: what the facts must say is asked for") {
  const RecipeText text{{std::make_shared<SourceFile>(SourceFile{"a.toml", kCharacters})}, {}};
  CHECK_THROWS_WITH_AS(describe(request(text, nlohmann::json::object())),
                       "describe: the vocabulary size is unknown until the data is prepared; run "
                       "the recipe, or set model.vocab_size",
                       Error);
  CHECK(describe(request(text, {{"vocab_size", 65}}))["parameters_by_part"][0]["count"] == 65 * 8);
  CHECK_THROWS_WITH_AS(describe("{"), "describe: the request is not a JSON object with a recipe",
                       Error);
}

}  // namespace
}  // namespace exprun
