// [model.lora]: what is trained, what it computes, and what goes out.
#include "engine/lora.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "engine/tiny_run.h"
#include "engine/weights/adapter.h"
#include "engine/weights/export.h"
#include "engine/weights/import.h"
#include "support/sections.h"
#include "support/temporary_folder.h"

namespace exprun {
namespace {

const std::string kRankTwo = "lora = { rank = 2, alpha = 6.0 }\n";

// A gpt whose adapters have been trained, as it were: B is not zero any more.
struct Adapted {
  explicit Adapted(const std::string& keys)
      : recipe(recipe_with("model", "gpt", "vocab_size = 11\n" + keys)),
        state(build_train_state(recipe, at::kCPU)) {
    const at::NoGradGuard no_grad;
    for (const Parameter& parameter : state.parameters->items())
      if (parameter.name.ends_with(kLoraB)) parameter.tensor.normal_(0, 0.2);
    state.model->set_training(false);
  }

  at::Tensor of(const std::string& name) const { return state.parameters->find(name)->tensor; }
  at::Tensor logits(const at::Tensor& tokens) const {
    const at::NoGradGuard no_grad;
    return state.model->logits(tokens);
  }
  ByName stored() const {
    return [this](const std::string& name) { return of(name).detach(); };
  }
  TensorPlan plan(const char* type) const {
    const auto own = without_adapters(state.parameters->items());
    return type ? foreign_plan(*tensor_names(type), own, recipe.section("model")) : own_plan(own);
  }

  ResolvedRecipe recipe;
  TrainState state;
};

struct Shape {
  const char* type;
  std::string keys;
};

// Joined and apart on either side, turned or not, with shared keys.
const std::vector<Shape> kShapes = {
    {nullptr, ""},
    {"gpt2", ""},
    {"llama",
     "num_key_value_heads = 1\nnorm = { type = \"rms_norm\" }\nactivation = \"swiglu\"\n"
     "bias = false\ntie_embeddings = false\nposition = { type = \"rotary\" }\n"},
    {"llama",
     "num_key_value_heads = 1\nnorm = { type = \"rms_norm\" }\nactivation = \"swiglu\"\n"
     "bias = false\ntie_embeddings = false\nquery_key_value = \"separate\"\n"
     "position = { type = \"rotary\", layout = \"interleaved\" }\n"}};

std::string mistake(const std::string& keys) try {
  Adapted adapted(keys);
  return "none";
} catch (const RecipeError& error) {
  return error.diagnostics().at(0).message;
}

}  // namespace

TEST_CASE("lora: targets are words of a layer's name, or globs of it") {
  const LoraSettings words{1, 1, 0, {"attention", "down_projection"}, {}};
  CHECK(words.adapts("blocks.0.attention.query_key_value"));
  CHECK(words.adapts("blocks.3.feed_forward.down_projection"));
  CHECK_FALSE(words.adapts("blocks.3.feed_forward.up_projection"));
  CHECK_FALSE(words.adapts("blocks.3.attention_norm"));
  const LoraSettings globs{1, 1, 0, {"blocks.1.*"}, {}};
  CHECK(globs.adapts("blocks.1.feed_forward.up_projection"));
  CHECK_FALSE(globs.adapts("blocks.0.feed_forward.up_projection"));
  CHECK(mistake("lora = { rank = 2, targets = [\"attention\", \"attension\"] }\n") ==
        "no linear layer of the blocks matches 'attension'");
}

TEST_CASE("lora: what is trained beside the adapters is said by name, and no adapter alone") {
  CHECK(mistake("lora = { rank = 2, trained = [\"*norm*\", \"hed.*\"] }\n") ==
        "no parameter of the model matches 'hed.*'");
  const Adapted adapted("lora = { rank = 2, trained = [\"*norm*\", \"token_embedding.*\"] }\n");
  for (const Parameter& parameter : adapted.state.parameters->items()) {
    CAPTURE(parameter.name);
    const bool is_named = parameter.name.find("norm") != std::string::npos ||
                          parameter.name == "token_embedding.weight";
    CHECK(parameter.is_frozen() == !(is_named || is_adapter(parameter.name)));
  }
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(write_adapter(adapted.plan("gpt2"), adapted.stored(), *adapted.state.parameters,
                                  "", folder.path()),
                    "export: 'token_embedding.weight' was trained too (model.lora.trained), which "
                    "an adapter alone does not hold; leave --adapter out to export the merged "
                    "model");
}

TEST_CASE("lora: adapters begin as nothing, A within peft's bounds") {
  const std::string keys = "vocab_size = 11\n";
  const auto plain_recipe = recipe_with("model", "gpt", keys);
  const auto recipe = recipe_with("model", "gpt", keys + kRankTwo);
  const TrainState plain = build_train_state(plain_recipe, at::kCPU);
  const TrainState state = build_train_state(recipe, at::kCPU);
  const at::NoGradGuard no_grad;
  const auto tokens = at::randint(11, {3, 8}, at::kLong);
  CHECK(at::equal(state.model->logits(tokens), plain.model->logits(tokens)));
  int adapters = 0;
  for (const Parameter& parameter : state.parameters->items()) {
    CAPTURE(parameter.name);
    CHECK(parameter.is_frozen() == !is_adapter(parameter.name));
    if (!parameter.name.ends_with(kLoraA)) continue;
    ++adapters;
    CHECK(parameter.tensor.size(0) == 2);
    const double bound = 1 / std::sqrt(static_cast<double>(parameter.tensor.size(1)));
    CHECK(parameter.tensor.abs().max().item<double>() <= bound);
    CHECK(parameter.tensor.abs().max().item<double>() > 0.5 * bound);
  }
  CHECK(adapters == 2 * 4);
}

TEST_CASE("lora: merged weights compute what the adapters do") {
  const TemporaryFolder folder;
  const auto tokens = at::randint(11, {3, 8}, at::kLong);
  for (size_t i = 0; i < kShapes.size(); ++i) {
    const auto& [type, keys] = kShapes[i];
    INFO(keys);
    const Adapted adapted("initialization = { std = 0.2 }\n" + keys + kRankTwo);
    const auto target = folder.path() / std::to_string(i);
    std::filesystem::create_directories(target);
    write_weights(adapted.plan(type), merged(adapted.stored(), *adapted.state.parameters),
                  at::kFloat, target, 1 << 20);
    const auto recipe = recipe_with(
        "model", "gpt", "vocab_size = 11\n" + keys + "init_from = '" + target.string() + "'\n");
    const TrainState plain = build_train_state(recipe, at::kCPU);
    REQUIRE(import_weights(recipe, plain, {}));
    const at::NoGradGuard no_grad;
    const auto logits = adapted.logits(tokens);
    CHECK(at::allclose(plain.model->logits(tokens), logits, 1e-5, 1e-5));
    const Adapted without("initialization = { std = 0.2 }\n" + keys);
    CHECK_FALSE(at::allclose(without.logits(tokens), logits, 1e-2, 1e-2));
  }
}

// W + alpha / r B A of what peft reads is what the merged export has.
TEST_CASE("lora: an adapter that goes out alone is the difference to the merged weights") {
  const TemporaryFolder folder;
  for (size_t i = 1; i < kShapes.size(); ++i) {
    const auto& [type, keys] = kShapes[i];
    INFO(keys);
    const Adapted adapted(keys + kRankTwo);
    const auto target = folder.path() / std::to_string(i);
    std::filesystem::create_directories(target);
    const TensorPlan plan = adapted.plan(type);
    const auto written =
        write_adapter(plan, adapted.stored(), *adapted.state.parameters, "models/base", target);
    CHECK(written == std::vector<std::string>{"adapter_model.safetensors", "adapter_config.json"});
    const auto config = parse_json<nlohmann::json>(read_file(target / "adapter_config.json"));
    CHECK(config.at("peft_type") == "LORA");
    CHECK(config.at("r") == 2);
    CHECK(config.at("lora_alpha") == 6);
    CHECK(config.at("base_model_name_or_path") == "models/base");
    const bool transposed = config.at("fan_in_fan_out");
    CHECK(transposed == (std::string(type) == "gpt2"));
    const Safetensors tensors(target / "adapter_model.safetensors");
    CHECK(tensors.names().size() == 2 * config.at("target_modules").size());
    const ByName all = merged(adapted.stored(), *adapted.state.parameters);
    for (const PlannedTensor& planned : plan.tensors) {
      if (planned.parts.empty()) continue;
      const std::string module = planned.name.substr(0, planned.name.rfind('.'));
      const std::string prefix = "base_model.model." + module;
      const auto base = assembled(planned, plan.order, adapted.stored());
      const auto whole = assembled(planned, plan.order, all);
      if (!tensors.has(prefix + ".lora_A.weight") || !planned.name.ends_with(".weight")) {
        CHECK(at::equal(base, whole));
        continue;
      }
      const auto product = at::mm(tensors.tensor(prefix + ".lora_B.weight"),
                                  tensors.tensor(prefix + ".lora_A.weight"));
      CHECK(at::allclose(base.add(transposed ? product.t() : product, 3), whole, 1e-5, 1e-6));
    }
  }
}

TEST_CASE("lora: what cannot be one adapter is refused") {
  const TemporaryFolder folder;
  const Adapted adapted("query_key_value = \"separate\"\n" + kRankTwo);
  CHECK_THROWS_AS(write_adapter(adapted.plan("gpt2"), adapted.stored(), *adapted.state.parameters,
                                "", folder.path()),
                  Error);
}

TEST_CASE("lora: dropout is of training only") {
  const Adapted adapted("lora = { rank = 2, dropout = 0.5 }\n");
  const auto tokens = at::randint(11, {3, 8}, at::kLong);
  CHECK(at::equal(adapted.logits(tokens), adapted.logits(tokens)));
  adapted.state.model->set_training(true);
  CHECK_FALSE(at::equal(adapted.logits(tokens), adapted.logits(tokens)));
}

TEST_CASE("lora: a run changes adapters and nothing else") {
  const TinyRun run({"model.lora={rank=3}"});
  const Pipeline initial = run.build();
  MemoryRecorder recorder;
  const auto trained = make_attempt(run, recorder).tensors;
  for (const Parameter& parameter : initial.train_state.parameters->items()) {
    CAPTURE(parameter.name);
    CHECK(trained.at(parameter.name).equal(parameter.tensor) == !is_adapter(parameter.name));
    CHECK(trained.contains(parameter.name + "/exp_avg") == is_adapter(parameter.name));
  }
}

TEST_CASE("lora: what an adapter learned is not left behind without a word") {
  const TinyRun adapted({"model.lora={rank=2}"});
  MemoryRecorder recorder;
  make_attempt(adapted, recorder);
  const auto checkpoint = complete_checkpoints(RunFolder{adapted.folder()}).at(0);
  const std::string from = "model.init_from='" + checkpoint.path.string() + "'";
  const std::string advice =
      "`exprun export " + adapted.folder().filename().string() + " --step " +
      std::to_string(checkpoint.step) + " --store " + adapted.folder().parent_path().string() +
      " --huggingface DIR` merges the adapter into the weights; then set model.init_from=DIR";
  const TinyRun plain({from});
  try {
    import_weights(plain.recipe, plain.build().train_state, {});
    FAIL("weights with an adapter became those of a model without one");
  } catch (const Error& error) {
    const std::string said = error.what();
    CHECK(said.find("\n  " + advice) != said.npos);
    CHECK(said.find("init_partial") == said.npos);
  }
  const TinyRun partial({from, "model.init_partial=true"});
  const auto imported = import_weights(partial.recipe, partial.build().train_state, {});
  REQUIRE(imported);
  CHECK(imported->warnings.back() ==
        "the training of the adapter in these weights is not used; " + advice);
}

// From the weights that a run ends with, another batch is learned by heart: all parameters are
// trained, or adapters of full rank (twice their product) beside all that has none.
TEST_CASE("lora: at full rank it reaches the loss of full fine-tuning") {
  const std::vector<std::string> common = {"run.steps=150",
                                           "run.overfit_single_batch=true",
                                           "run.seed=7",
                                           "model.dropout=0",
                                           "optimizer.lr=1e-2",
                                           "checkpoint.every='150 steps'",
                                           "evaluation.val_loss.every='150 steps'"};
  const TinyRun first({"model.dropout=0", "model.initialization.std=0.3"});
  MemoryRecorder before;
  make_attempt(first, before);
  const auto found = complete_checkpoints(RunFolder{first.folder()});
  const auto last_loss = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = common;
    words.insert(words.end(), more.begin(), more.end());
    words.push_back("model.init_from='" + found.at(0).path.string() + "'");
    const TinyRun run(words);
    MemoryRecorder recorder;
    make_attempt(run, recorder, never_stop, at::kCPU, [&](Pipeline& pipeline) {
      REQUIRE(import_weights(run.recipe, pipeline.train_state, {}));
    });
    return recorder.steps.back().loss;
  };
  const double full = last_loss({});
  const double adapted =
      last_loss({R"(model.lora={rank=32, alpha=64, trained=["*embedding*", "*norm*", "*.bias"]})"});
  CAPTURE(full);
  CAPTURE(adapted);
  CHECK(before.steps.back().loss > 2);
  CHECK(full < 0.1);
  CHECK(adapted <= full);
}

}  // namespace exprun
