// Our GPT against transformers' GPT2LMHeadModel: with biases, the tanh GELU, a tied head.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <doctest/doctest.h>

#include <cmath>

#include "engine/optimizers.h"
#include "engine/pipeline.h"
#include "engine/safetensors.h"
#include "support/fixtures.h"
#include "support/nanogpt_names.h"
#include "support/sections.h"

using namespace exprun;
using nlohmann::json;

namespace {

std::string recipe_text(const json& curve) {
  const auto& model = curve.at("config");
  const auto& train = curve.at("train");
  const auto number = [](const json& value) { return value.dump(); };
  return "[run]\nsteps = 20\n[model]\ntype = \"gpt\"\nactivation = \"gelu_tanh\"\nnum_layers = " +
         number(model.at("n_layer")) + "\nnum_heads = " + number(model.at("n_head")) +
         "\nhidden_size = " + number(model.at("n_embd")) +
         "\ncontext_length = " + number(model.at("n_positions")) +
         "\nvocab_size = " + number(model.at("vocab_size")) +
         "\n[dataset]\ntype = \"text\"\npath = \"a.txt\"\ntokenizer = \"char\"\n"
         "[batch]\nsequences = 3\n"
         "[optimizer]\ntype = \"adamw\"\ndecay = \"all\"\nmax_grad_norm = 0\nlr = " +
         number(train.at("lr")) + "\nbetas = " + number(train.at("betas")) +
         "\nweight_decay = " + number(train.at("weight_decay")) + "\n";
}

// transformers keeps these as (in, out).
bool is_transposed(const std::string& name) {
  return name.ends_with("weight") &&
         (name.find("attn.c_") != std::string::npos || name.find("mlp.c_") != std::string::npos);
}

at::Tensor theirs(const Safetensors& file, const Parameter& parameter) {
  const auto name = nanogpt_name(parameter.name);
  const auto tensor = file.tensor(name);
  return is_transposed(name) ? tensor.t() : tensor;
}

// What the gradient of a shift common to all keys, exactly zero, becomes by rounding is noise.
at::Tensor without_key_bias(const Parameter& parameter, const at::Tensor& tensor) {
  if (!parameter.name.ends_with("query_key_value.bias")) return tensor;
  auto copy = tensor.clone();
  const int64_t width = copy.numel() / 3;
  copy.narrow(0, width, width).zero_();
  return copy;
}

struct Gpt2 {
  explicit Gpt2(const std::filesystem::path& folder, const json& curve)
      : recipe(resolve_text(recipe_text(curve))), learner(build_learner(recipe, at::kCPU)) {
    const at::NoGradGuard no_grad;
    const Safetensors init(folder / "model" / "model.safetensors");
    for (const auto& parameter : learner.parameters->items()) {
      at::Tensor tensor = parameter.tensor;
      tensor.copy_(theirs(init, parameter));
    }
  }

  // Mean over the T - 1 predictions a row; gradients are left behind.
  double loss_and_gradients(const at::Tensor& tokens) {
    auto targets = at::full_like(tokens, kIgnoredTarget);
    targets.narrow(1, 0, tokens.size(1) - 1).copy_(tokens.narrow(1, 1, tokens.size(1) - 1));
    const auto predictions = static_cast<double>(tokens.size(0) * (tokens.size(1) - 1));
    learner.optimizers->zero_gradients();
    const auto loss = learner.model->loss_sum(tokens, targets);
    loss.div(predictions).backward();
    return loss.item<double>() / predictions;
  }

  ResolvedRecipe recipe;
  Learner learner;
};

double relative(const at::Tensor& ours, const at::Tensor& theirs) {
  return (ours - theirs).norm().item<double>() / theirs.norm().item<double>();
}

double largest(const at::Tensor& difference) {
  return difference.abs().max().item<double>();
}

void check_batch(Gpt2& gpt2, const Safetensors& batch, const std::filesystem::path& folder,
                 const json& curve, const json& tolerance) {
  const auto tokens = batch.tensor("input_ids").clone();
  CHECK(largest(gpt2.learner.model->logits(tokens) - batch.tensor("logits")) <=
        tolerance.at("logits").get<double>());
  const double loss = gpt2.loss_and_gradients(tokens);
  CHECK(std::abs(loss - curve.at("batch").at("loss").get<double>()) <=
        tolerance.at("first_loss").get<double>());
  const Safetensors gradients(folder / "grads.safetensors");
  for (const auto& parameter : gpt2.learner.parameters->items()) {
    const auto ours = without_key_bias(parameter, parameter.tensor.grad());
    const auto expected = without_key_bias(parameter, theirs(gradients, parameter));
    INFO(parameter.name);
    CHECK(largest(ours - expected) <= tolerance.at("grads_max_abs").get<double>());
    CHECK(relative(ours, expected) <= tolerance.at("grads_max_rel_norm").get<double>());
  }
}

// The recorded rates are not one of our schedules: they rise again.
void check_training(Gpt2& gpt2, const Safetensors& batch, const std::filesystem::path& folder,
                    const json& curve, const json& tolerance) {
  const auto tokens = batch.tensor("train_input_ids").clone();
  const double peak = gpt2.learner.optimizers->lr(1);
  for (int64_t k = 0; k < tokens.size(0); ++k) {
    const auto i = static_cast<size_t>(k);
    const double loss = gpt2.loss_and_gradients(tokens[k]);
    CHECK(std::abs(loss - curve.at("loss").at(i).get<double>()) <=
          tolerance.at("loss").get<double>());
    gpt2.learner.optimizers->step(curve.at("lr").at(i).get<double>() / peak, k + 1);
  }
  CHECK(largest(gpt2.learner.model->logits(batch.tensor("input_ids").clone()) -
                batch.tensor("logits_final")) <= tolerance.at("logits_final").get<double>());
  const Safetensors final(folder / "final.safetensors");
  for (const auto& parameter : gpt2.learner.parameters->items()) {
    INFO(parameter.name);
    CHECK(relative(without_key_bias(parameter, parameter.tensor),
                   without_key_bias(parameter, theirs(final, parameter))) <=
          tolerance.at("final_max_rel_norm").get<double>());
  }
}

void compare(const std::string& set) {
  const auto folder = fixture("parity/" + set);
  const auto curve = json_fixture("parity/" + set + "/curve.json");
  const auto tolerances = json_fixture("parity/tolerances.json");
  if (!folder || !curve || !tolerances) return;
  const auto tolerance = tolerances->at("recommended_abs_or_rel").at(set);
  const Safetensors batch(*folder / "batch.safetensors");
  Gpt2 gpt2(*folder, *curve);
  check_batch(gpt2, batch, *folder, *curve, tolerance);
  check_training(gpt2, batch, *folder, *curve, tolerance);
}

}  // namespace

TEST_CASE("gpt2: logits, gradients and twenty updates are those of transformers") {
  compare("hf_gpt2");
}

TEST_CASE("gpt2: and where every parameter has noise") {
  compare("hf_gpt2_wide");
}
