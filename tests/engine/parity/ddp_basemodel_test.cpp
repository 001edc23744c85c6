// DDP-BASEMODEL-TRAIN's GPTModel: RMSNorm as (1 + w), no output projection, an untied head.
#include <doctest/doctest.h>

#include <cmath>

#include "support/fixtures.h"
#include "support/parity_checks.h"

using namespace exprun;
using nlohmann::json;

namespace {

std::string recipe_of(const json& curve) {
  const auto& model = curve.at("config");
  const auto& train = curve.at("train");
  const auto bias = model.at("qkv_bias").get<bool>() ? "[\"query_key_value\", \"feed_forward\"]"
                                                     : "[\"feed_forward\"]";
  const std::string position =
      model.at("rope_en").get<bool>()
          ? "{ type = \"rotary\", layout = \"interleaved\", rope_theta = " +
                json(model.at("theta_ref").get<double>()).dump() + " }"
          : "{ type = \"learned\" }";
  return "[run]\n" + toml("steps", train.at("steps")) +
         "[model]\ntype = \"gpt\"\ntie_embeddings = false\nactivation = \"gelu_tanh\"\n"
         "output_projection = false\nquery_key_value = \"separate\"\nbias = " +
         bias + "\n" + toml("num_layers", model.at("n_layers")) +
         toml("num_heads", model.at("n_heads")) + toml("hidden_size", model.at("emb_dim")) +
         toml("context_length", model.at("context_length")) +
         toml("vocab_size", model.at("vocab_size")) + toml("dropout", model.at("drop_rate")) +
         "position = " + position + "\nnorm = { type = \"rms_norm\", weight = \"one_plus\", " +
         "eps = " + curve.at("norm_eps").dump() + " }\n[batch]\n" +
         toml("sequences", train.at("batch_size")) + "[optimizer]\ntype = \"adamw\"\n" +
         toml("lr", train.at("learning_rate")) + toml("betas", train.at("betas")) +
         toml("eps", train.at("eps")) + toml("weight_decay", train.at("weight_decay")) +
         toml("max_grad_norm", train.at("grad_clip")) + "[schedule]\ntype = \"cosine\"\n" +
         toml("min_lr_factor", train.at("learning_rate_decay_frac")) + "warmup = \"" +
         train.at("warmup_iters").dump() + " steps\"\ndecay_until = \"" +
         train.at("num_iterations").dump() + " steps\"\n";
}

void check_batch(ParityRun& run, const Safetensors& batch, const json& curve,
                 const json& tolerance) {
  const auto x = batch.tensor("x").clone(), y = batch.tensor("y").clone();
  const auto logits = run.model().logits(x);
  const auto within = [&](const char* key) { return tolerance.at(key).get<double>(); };
  CHECK(largest(logits.sub(batch.tensor("logits"))) <= within("logits"));
  CHECK(largest(logits.narrow(1, -1, 1).sub(batch.tensor("logits_last"))) <= within("logits"));
  const auto& expected = curve.at("batch");
  const double ignoring = run.loss_and_gradients(x, batch.tensor("y_ignore").clone());
  CHECK(std::abs(ignoring - expected.at("loss_ignore").get<double>()) <= within("loss_ignore"));
  CHECK(std::abs(run.loss_and_gradients(x, y) - expected.at("loss").get<double>()) <=
        within("first_loss"));
}

}  // namespace

TEST_CASE("parity: DDP-BASEMODEL-TRAIN, logits, gradients, twenty updates and final weights") {
  const auto folder = fixture("parity/seed002");
  const auto curve = json_fixture("parity/seed002/curve.json");
  const auto tolerances = json_fixture("parity/tolerances.json");
  if (!folder || !curve || !tolerances) return;
  const auto tolerance = tolerances->at("recommended_abs_or_rel").at("seed002");
  const Safetensors train(*folder / "train.safetensors"), batch(*folder / "batch.safetensors");
  ParityRun run({recipe_of(*curve), "ddp_basemodel", *folder / "init.safetensors",
                 train.tensor("x").flatten(0, 1).clone(), train.tensor("y").flatten(0, 1).clone()});
  check_batch(run, batch, *curve, tolerance);
  check_gradients(run, *folder / "grads.safetensors", tolerance);
  check_curve(run, *curve, tolerance);
  check_final(run, *folder / "final.safetensors", tolerance);
  const double after = run.loss_and_gradients(batch.tensor("x").clone(), batch.tensor("y").clone());
  CHECK(std::abs(after - curve->at("batch").at("loss_after_training").get<double>()) <=
        tolerance.at("loss").get<double>());
}
