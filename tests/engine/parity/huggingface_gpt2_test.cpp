// transformers' GPT2LMHeadModel: biases everywhere, the tanh GELU, a tied head, a periodic cosine;
// and what it writes, greedily and by its distribution.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "engine/inference/sampling.h"
#include "support/fixtures.h"
#include "support/generated_tokens.h"
#include "support/parity_checks.h"

using namespace exprun;
using nlohmann::json;

namespace {

// `model` is the config.json that transformers wrote, in `folder`.
std::string recipe_of(const std::filesystem::path& folder, const json& model, const json& curve,
                      int64_t sequences) {
  const auto& train = curve.at("train");
  const json floor = train.at("eta_min").get<double>() / train.at("lr").get<double>();
  const json clip = train.at("grad_clip").is_null() ? json(0) : train.at("grad_clip");
  return "[run]\n" + toml("steps", train.at("steps")) + "[model]\ntype = \"gpt\"\n" +
         toml("init_from", folder.string()) + "activation = \"" +
         (model.at("activation_function") == "gelu" ? "gelu" : "gelu_tanh") +
         "\"\nnorm = { eps = " + model.at("layer_norm_epsilon").dump() + " }\n" +
         toml("tie_embeddings", model.at("tie_word_embeddings")) +
         toml("dropout", model.at("resid_pdrop")) + toml("num_layers", model.at("n_layer")) +
         toml("num_heads", model.at("n_head")) + toml("hidden_size", model.at("n_embd")) +
         toml("context_length", model.at("n_positions")) +
         toml("vocab_size", model.at("vocab_size")) + "[batch]\n" + toml("sequences", sequences) +
         "[optimizer]\ntype = \"adamw\"\ndecay = \"all\"\n" + toml("max_grad_norm", clip) +
         toml("lr", train.at("lr")) + toml("betas", train.at("betas")) +
         toml("eps", train.at("eps")) + toml("weight_decay", train.at("weight_decay")) +
         "[schedule]\ntype = \"cosine_annealing\"\n" + toml("min_lr_factor", floor) +
         "half_period = \"" + train.at("T_max").dump() + " steps\"\n";
}

// The labels are the inputs: position t predicts t + 1, and the last one nothing.
at::Tensor shifted(const at::Tensor& tokens) {
  auto targets = at::full_like(tokens, kIgnoredTarget);
  const int64_t predictions = tokens.size(-1) - 1;
  targets.narrow(-1, 0, predictions).copy_(tokens.narrow(-1, 1, predictions));
  return targets;
}

// The gradient of a shift common to all keys is zero but for rounding, which Adam amplifies.
at::Tensor without_key_bias(const Parameter& parameter, const at::Tensor& tensor) {
  if (!parameter.name.ends_with("query_key_value.bias")) return tensor;
  auto copy = tensor.clone();
  const int64_t width = copy.numel() / 3;
  copy.narrow(0, width, width).zero_();
  return copy;
}

at::Tensor last_logits(ParityRun& run, const std::vector<int64_t>& tokens) {
  return run.model().logits(at::tensor(tokens).unsqueeze(0)).select(0, 0).select(0, -1);
}

// As generate_text() writes them, with the cache and without.
void check_greedy(ParityRun& run, const json& expected) {
  const at::NoGradGuard no_grad;
  const auto prompt = expected.at("prompt").get<Tokens>();
  const auto tokens = expected.at("new_tokens").get<std::vector<int64_t>>();
  const auto count = static_cast<int64_t>(tokens.size());
  REQUIRE(run.model().has_cache());
  run.model().set_training(false);
  UncachedModel uncached(run.model());
  CHECK(greedy_tokens(run.model(), prompt, count) == tokens);
  CHECK(greedy_tokens(uncached, prompt, count) == tokens);
  run.model().set_training(true);
}

void check_off(const std::vector<double>& ours, const std::vector<double>& theirs,
               double tolerance) {
  REQUIRE(ours.size() == theirs.size());
  double off = 0;
  for (size_t i = 0; i < ours.size(); ++i) off = std::max(off, std::abs(ours[i] - theirs[i]));
  CHECK(off <= tolerance);
}

// What top-p makes of probabilities (Holtzman et al. 2020): a token stays while those above it have
// less.
std::vector<double> nucleus(const std::vector<double>& all, double top_p) {
  std::vector<double> kept(all.size(), 0.0);
  for (size_t i = 0; i < all.size(); ++i) {
    double above = 0;
    for (const double other : all) above += other > all[i] ? other : 0;
    if (above < top_p) kept[i] = all[i];
  }
  const double sum = std::accumulate(kept.begin(), kept.end(), 0.0);
  for (double& probability : kept) probability /= sum;
  return kept;
}

void check_distribution(ParityRun& run, const json& sampling, double tolerance) {
  const at::NoGradGuard no_grad;
  const auto logits = last_logits(run, sampling.at("prompt").get<std::vector<int64_t>>());
  const auto ours =
      token_probabilities(logits, sampling.at("temperature"), sampling.at("top_k").get<int64_t>());
  const auto& theirs = sampling.at("probabilities");
  check_off(ours, theirs.get<std::vector<double>>(), tolerance);
  constexpr double kTopP = 0.6;
  check_off(token_probabilities(logits, sampling.at("temperature"),
                                sampling.at("top_k").get<int64_t>(), kTopP),
            nucleus(theirs.get<std::vector<double>>(), kTopP), tolerance);
}

void compare(const std::string& set, const std::string& sampling_file) {
  const auto folder = fixture("parity/" + set);
  const auto curve = json_fixture("parity/" + set + "/curve.json");
  const auto config = json_fixture("parity/" + set + "/model/config.json");
  const auto sampling = json_fixture("parity/" + sampling_file);
  const auto tolerances = json_fixture("parity/tolerances.json");
  if (!folder || !curve || !config || !sampling || !tolerances) return;
  const auto all = tolerances->at("recommended_abs_or_rel");
  const auto& tolerance = all.at(set);
  const Safetensors batch(*folder / "batch.safetensors");
  const auto samples = batch.tensor("train_input_ids").flatten(0, 1).clone();
  const auto recipe =
      recipe_of(*folder / "model", *config, *curve, batch.tensor("input_ids").size(0));
  ParityRun run({recipe, "huggingface_gpt2", {}, samples, shifted(samples)});
  const auto tokens = batch.tensor("input_ids").clone();
  const auto within = [&](const char* key) { return tolerance.at(key).get<double>(); };
  CHECK(largest(run.model().logits(tokens).sub(batch.tensor("logits"))) <= within("logits"));
  CHECK(std::abs(run.loss_and_gradients(tokens, shifted(tokens)) -
                 curve->at("batch").at("loss").get<double>()) <= within("first_loss"));
  check_gradients(run, *folder / "grads.safetensors", tolerance, without_key_bias);
  check_greedy(run, curve->at("greedy"));
  check_distribution(run, *sampling, all.at("sampling").at("probabilities"));
  check_curve(run, *curve, tolerance);
  CHECK(largest(run.model().logits(tokens).sub(batch.tensor("logits_final"))) <=
        within("logits_final"));
  check_final(run, *folder / "final.safetensors", tolerance, without_key_bias);
  check_greedy(run, curve->at("greedy_after_training"));
}

}  // namespace

TEST_CASE("parity: transformers' GPT-2, gradients, updates, samples and final weights") {
  compare("hf_gpt2", "sampling.json");
}

TEST_CASE("parity: transformers' GPT-2 where every parameter has noise") {
  compare("hf_gpt2_wide", "sampling_wide.json");
}
