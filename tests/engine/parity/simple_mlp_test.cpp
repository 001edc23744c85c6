// The notebook's SimpleModel: an MLP on random tokens, AdamW on every tensor, four micro-batches.
#include <doctest/doctest.h>

#include <cmath>

#include "support/fixtures.h"
#include "support/parity_checks.h"

using namespace exprun;
using nlohmann::json;

namespace {

std::string recipe_of(const json& config) {
  const auto& optimizer = config.at("optimizer");
  const json sequences =
      config.at("batch_size").get<int64_t>() * config.at("accumulation").get<int64_t>();
  return "[run]\n" + toml("steps", config.at("steps")) + "[model]\ntype = \"mlp\"\n" +
         toml("hidden_size", config.at("n_embd")) + toml("vocab_size", config.at("vocab_size")) +
         toml("context_length", config.at("context_size")) + "[batch]\n" +
         toml("sequences", sequences) + toml("micro_batch", config.at("batch_size")) +
         "[optimizer]\ntype = \"adamw\"\ndecay = \"all\"\nmax_grad_norm = 0\n" +
         toml("lr", optimizer.at("lr")) + toml("betas", optimizer.at("betas")) +
         toml("eps", optimizer.at("eps")) + toml("weight_decay", optimizer.at("weight_decay")) +
         "[schedule]\ntype = \"constant\"\n";
}

double mean_loss(ParityRun& run, const at::Tensor& x, const at::Tensor& y) {
  return run.model().loss_sum(x, y).item<double>() / static_cast<double>(y.numel());
}

}  // namespace

TEST_CASE("parity: the notebook's MLP, every micro-batch, update and final weight") {
  const auto folder = fixture("parity/mlp003");
  const auto curve = json_fixture("parity/mlp003/curve.json");
  const auto tolerances = json_fixture("parity/tolerances.json");
  if (!folder || !curve || !tolerances) return;
  const auto tolerance = tolerances->at("recommended_abs_or_rel").at("mlp003");
  const auto& config = curve->at("config");
  const Safetensors data(*folder / "data.safetensors");
  const auto samples = samples_at(data.tensor("train_tokens").clone(), data.tensor("offsets"),
                                  config.at("context_size"));
  ParityRun run({recipe_of(config), "simple_mlp", *folder / "init.safetensors", samples.inputs,
                 samples.targets});
  const auto x = data.tensor("first_x").clone(), y = data.tensor("first_y").clone();
  CHECK(largest(run.model().logits(x).sub(data.tensor("first_logits"))) <=
        tolerance.at("first_logits").get<double>());
  CHECK(std::abs(mean_loss(run, x, y) - curve->at("first_loss").get<double>()) <=
        tolerance.at("first_loss").get<double>());
  const auto batch = config.at("batch_size").get<int64_t>();
  const auto micro_batches = config.at("accumulation").get<int64_t>();
  for (int64_t k = 0; k < config.at("steps").get<int64_t>(); ++k) {
    for (int64_t i = 0; i < micro_batches; ++i) {
      const int64_t first = (k * micro_batches + i) * batch;
      const double loss = mean_loss(run, samples.inputs.narrow(0, first, batch),
                                    samples.targets.narrow(0, first, batch));
      const auto& recorded = curve->at("micro_loss").at(static_cast<size_t>(k));
      CHECK(std::abs(loss - recorded.at(static_cast<size_t>(i)).get<double>()) <=
            tolerance.at("micro_loss").get<double>());
    }
    check_update(run, k, *curve, tolerance);
  }
  check_final(run, *folder / "final.safetensors", tolerance);
}
