// Models that transformers made, with the logits, loss and gradients that it computed; written out
// again for it. tests/end_to_end/test_transformers_long.py makes them and names their folder.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "base/files/file.h"
#include "base/json_text.h"
#include "engine/weights/export.h"
#include "engine/weights/import.h"
#include "huggingface/model_config.h"
#include "recipe/toml/write.h"
#include "support/sections.h"

using namespace exprun;
namespace fs = std::filesystem;

namespace {

// [model] of a config.json, as dotted keys of TOML.
std::string model_of(const fs::path& folder) {
  std::string keys = "type = \"gpt\"\ninit_from = " + toml_quoted(folder.string()) + "\n";
  const auto file = folder / kConfigFile;
  for (const auto& [key, value] : model_keys(read_config(file), file))
    if (key != "dropout")
      keys += key + " = " + toml_text(value_of_json(value, Origin::file)) + "\n";
  return keys;
}

double largest(const at::Tensor& tensor) {
  return tensor.abs().max().item<double>();
}

// All but the last position predict the next token, as transformers shifts its labels.
at::Tensor targets_of(const at::Tensor& tokens) {
  auto targets = tokens.roll(-1, 1);
  targets.select(1, -1).fill_(kIgnoredTarget);
  return targets;
}

void compare(const fs::path& folder) {
  const auto recipe = resolve_text(
      "[run]\nsteps = 1\n[model]\n" + model_of(folder / "model") +
      "[dataset]\ntype = \"token_shards\"\ntrain = \"unused.bin\"\n[batch]\nsequences = 1\n"
      "[optimizer]\ntype = \"adamw\"\nlr = 1e-3\n");
  const TrainState state = build_train_state(recipe, at::kCPU);
  const auto imported = import_weights(recipe, state);
  REQUIRE(imported);
  CHECK(imported->warnings.empty());
  const Safetensors batch(folder / "batch.safetensors");
  const auto tokens = batch.tensor("input_ids").clone(), expected = batch.tensor("logits");
  {
    const at::NoGradGuard no_grad;
    CHECK(largest(state.model->logits(tokens) - expected) <=
          1e-5 * std::max(1.0, largest(expected)));
  }
  const auto targets = targets_of(tokens);
  const auto valid = static_cast<double>(targets.ne(kIgnoredTarget).sum().item<int64_t>());
  state.optimizers->zero_gradients();
  const auto loss = state.model->loss_sum(tokens, targets).div(valid);
  loss.backward();
  CHECK(std::abs(loss.item<double>() - batch.tensor("loss").item<double>()) <= 1e-5);
  const auto type = model_type_of(read_config(folder / "model" / kConfigFile));
  const auto plan =
      foreign_plan(*tensor_names(type), state.parameters->items(), recipe.section("model"));
  size_t compared = 0;
  for (const PlannedTensor& planned : plan.tensors) {
    if (planned.parts.empty()) continue;
    CAPTURE(planned.name);
    const auto theirs = batch.tensor("gradient/" + planned.name);
    const auto ours = assembled(planned, plan.order, [&](const std::string& name) {
      return state.parameters->find(name)->tensor.grad();
    });
    CHECK(largest(ours - theirs) <= 1e-5 * std::max(1.0, largest(theirs)));
    ++compared;
  }
  CHECK(compared > 10);
  const ModelConfig config = model_config(recipe.section("model"), "float32");
  CHECK(config.obstacles.empty());
  CHECK(config.model_type == type);
  fs::create_directories(folder / "exported");
  write_file(folder / "exported" / kConfigFile, json_text(config.config, 2));
  write_weights(
      plan, [&](const std::string& name) { return state.parameters->find(name)->tensor.detach(); },
      at::kFloat, folder / "exported", 5'000'000'000);
}

}  // namespace

TEST_CASE("transformers: random models come in with the same logits and gradients") {
  const char* models = std::getenv("EXPRUN_TRANSFORMERS_MODELS");
  if (!models) return;  // counted by the test that sets it
  size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(models)) {
    INFO(entry.path().string());
    compare(entry.path());
    ++compared;
  }
  CHECK(compared == 10);
}
