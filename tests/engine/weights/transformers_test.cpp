// Models that transformers made, with the logits, loss and gradients that it computed and the
// updates that it made; written out again for it. tests/end_to_end/test_transformers_long.py makes
// them and names their folder.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "base/files/file.h"
#include "base/json_text.h"
#include "engine/weights/export.h"
#include "engine/weights/import.h"
#include "huggingface/model_config.h"
#include "recipe/toml/write.h"
#include "support/parity_run.h"

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

// All but the last position predict the next token, as transformers shifts its labels.
at::Tensor targets_of(const at::Tensor& tokens) {
  auto targets = tokens.roll(-1, 1);
  targets.select(1, -1).fill_(kIgnoredTarget);
  return targets;
}

// The updates of train() in tests/support/transformers_models.py.
std::string recipe_of(const fs::path& folder) {
  return "[run]\nsteps = 20\n[model]\n" + model_of(folder) +
         "[batch]\nsequences = 3\nsequence_length = 24\n"
         "[optimizer]\ntype = \"adamw\"\nlr = 1e-3\nbetas = [0.9, 0.95]\neps = 1e-6\n"
         "weight_decay = 0.1\nmax_grad_norm = 1.0\n[schedule]\ntype = \"constant\"\n";
}

// The gradient of a shift common to all keys is zero but for rounding, which Adam amplifies; with
// rotary positions no shift is common to all.
at::Tensor without_key_bias(const std::string& name, const at::Tensor& tensor) {
  if (!name.ends_with("attn.c_attn.bias")) return tensor;
  const auto parts = tensor.chunk(3);
  return at::cat({parts[0], parts[2]});
}

// Their tensors `prefix`NAME, and ours put together as theirs.
void compare_tensors(const TensorPlan& plan, const ByName& ours, const Safetensors& batch,
                     const std::string& prefix, double tolerance) {
  size_t compared = 0;
  for (const PlannedTensor& planned : plan.tensors) {
    if (planned.parts.empty()) continue;
    CAPTURE(planned.name);
    const auto theirs = without_key_bias(planned.name, batch.tensor(prefix + planned.name));
    const auto off = without_key_bias(planned.name, assembled(planned, plan.order, ours)) - theirs;
    CHECK(largest(off) <= tolerance * std::max(1.0, largest(theirs)));
    ++compared;
  }
  CHECK(compared > 10);
}

void train(ParityRun& run, const Safetensors& batch) {
  const auto losses = batch.tensor("train_loss"), norms = batch.tensor("train_grad_norm");
  for (int64_t k = 0; k < losses.size(0); ++k) {
    CAPTURE(k);
    const StepResult result = run.step(k);
    const double norm = norms[k].item<double>();
    CHECK(std::abs(result.loss - losses[k].item<double>()) <= 1e-4);
    CHECK(std::abs(result.grad_norm - norm) <= 1e-4 * std::max(1.0, norm));
  }
}

void write_again(const ParityRun& run, const TensorPlan& plan, const ByName& ours,
                 const std::string& type, const fs::path& folder, size_t most_bytes) {
  const ModelConfig config = model_config(run.recipe().section("model"), "float32");
  CHECK(config.obstacles.empty());
  CHECK(config.model_type == type);
  fs::create_directories(folder);
  write_file(folder / kConfigFile, json_text(config.config, 2));
  write_weights(plan, ours, at::kFloat, folder, most_bytes);
}

void compare(const fs::path& folder) {
  const Safetensors batch(folder / "batch.safetensors");
  const auto updates = batch.tensor("train_input_ids").flatten(0, 1).clone();
  ParityRun run({recipe_of(folder / "model"), "", {}, updates, targets_of(updates)});
  REQUIRE(run.imported());
  CHECK(run.imported()->warnings.empty());
  const auto tokens = batch.tensor("input_ids").clone(), expected = batch.tensor("logits");
  {
    const at::NoGradGuard no_grad;
    CHECK(largest(run.model().logits(tokens) - expected) <=
          1e-5 * std::max(1.0, largest(expected)));
  }
  CHECK(std::abs(run.loss_and_gradients(tokens, targets_of(tokens)) -
                 batch.tensor("loss").item<double>()) <= 1e-5);
  const auto type = model_type_of(read_config(folder / "model" / kConfigFile));
  const auto plan =
      foreign_plan(*tensor_names(type), run.parameters(), run.recipe().section("model"));
  const auto of = [&](const std::string& name) {
    return run.state().parameters->find(name)->tensor;
  };
  const ByName weights = [&](const std::string& name) { return of(name).detach(); };
  compare_tensors(
      plan, [&](const std::string& name) { return of(name).grad(); }, batch, "gradient/", 1e-5);
  const bool in_files = folder.filename() == "sharded";  // as transformers was told to write it
  write_again(run, plan, weights, type, folder / "exported", in_files ? 20'000 : 5'000'000'000);
  train(run, batch);
  compare_tensors(plan, weights, batch, "final/", 1e-4);
}

}  // namespace

TEST_CASE(
    "transformers: random models come in with the same logits and gradients, and train alike") {
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
