// modded-nanogpt's record 8: rotary positions, query and key norm, ReLU squared, Muon and two
// Adams.
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>

#include "support/coded_text.h"
#include "support/fixtures.h"
#include "support/parity_checks.h"

using namespace exprun;
using nlohmann::json;

namespace {

std::string format(const json& torch_name) {
  return torch_name.get<std::string>().starts_with("bf") ? "bf16" : "fp32";
}

std::string adam_group(const char* name, const char* glob, const json& settings) {
  return std::string("[optimizer.groups.") + name + "]\nmatch = [\"" + glob +
         "\"]\ntype = \"adam\"\n" + toml("lr", settings.at("lr")) +
         toml("betas", settings.at("betas")) + toml("eps", settings.at("eps"));
}

std::string model_table(const json& config) {
  return "[model]\ntype = \"gpt\"\nbias = false\ntie_embeddings = false\nactivation = "
         "\"relu_squared\"\nqk_norm = true\nembedding_norm = true\nquery_key_value = "
         "\"separate\"\n" +
         toml("num_layers", config.at("n_layer")) + toml("num_heads", config.at("n_head")) +
         toml("hidden_size", config.at("n_embd")) +
         toml("context_length", config.at("sequence_length")) +
         toml("vocab_size", config.at("vocab_size")) +
         "norm = { type = \"rms_norm\", weight = false, " +
         "eps = " + config.at("rms_norm_eps").dump() + " }\nposition = { type = \"rotary\", " +
         "table_dtype = \"" + format(config.at("rope_table_dtype")) + "\" }\n";
}

std::string recipe_of(const json& config) {
  const auto& muon = config.at("muon");
  return "[run]\n" + toml("steps", config.at("num_iterations")) + model_table(config) +
         "[batch]\n" + toml("sequences", config.at("batch_size")) +
         "[optimizer]\nmax_grad_norm = 0\n" +
         adam_group("embedding", "token_embedding.*", config.at("adam_wte")) +
         adam_group("head", "head.*", config.at("adam_lm_head")) +
         "[optimizer.groups.matrices]\nmatch = [\"blocks.*\"]\ntype = \"muon\"\n" +
         toml("lr", muon.at("lr")) + toml("momentum", muon.at("momentum")) +
         toml("nesterov", muon.at("nesterov")) + toml("newton_schulz_steps", muon.at("ns_steps")) +
         "newton_schulz_dtype = \"" + format(muon.at("ns_dtype")) + "\"\nupdate_dtype = \"" +
         format(muon.at("update_dtype")) + "\"\n[schedule]\ntype = \"wsd\"\nwarmup = \"" +
         config.at("warmup_iters").dump() + " steps\"\ndecay_length = \"" +
         config.at("warmdown_iters").dump() + " steps\"\n";
}

// Mean over the recorded validation batches.
double validation_loss(ParityRun& run, const Samples& samples, int64_t batch) {
  const at::NoGradGuard no_grad;
  double sum = 0;
  for (int64_t first = 0; first < samples.inputs.size(0); first += batch)
    sum += run.model()
               .loss_sum(samples.inputs.narrow(0, first, batch),
                         samples.targets.narrow(0, first, batch))
               .item<double>();
  return sum / static_cast<double>(samples.inputs.numel());
}

struct Recorded {
  json curve;
  json tolerance;
  std::filesystem::path folder;
  Samples train, validation;
};

std::optional<Recorded> recorded(const std::string& variant) {
  const auto curve = json_fixture("parity/record8/" + variant + "/curve.json");
  const auto tolerances = json_fixture("parity/tolerances.json");
  const auto folder = fixture("parity/record8");
  const auto text = fixture("data/tinyshakespeare.txt");
  if (!curve || !tolerances || !folder || !text) return std::nullopt;
  const auto coded = code_characters(*text);
  const Safetensors order(*folder / "order.safetensors");
  const auto length = curve->at("config").at("sequence_length").get<int64_t>();
  return Recorded{*curve, tolerances->at("recommended_abs_or_rel").at("record8/" + variant),
                  *folder, samples_at(tokens_of(coded.train), order.tensor("train_step"), length),
                  samples_at(tokens_of(coded.validation), order.tensor("val"), length)};
}

void check_rates(const ParityRun& run, const json& rates, int64_t k) {
  const std::pair<const char*, const char*> groups[] = {
      {"embedding", "wte"}, {"head", "lm_head"}, {"matrices", "muon"}};
  for (const auto& [ours, theirs] : groups)
    CHECK(std::abs(run.lr(ours, k) - rates.at(theirs).at(static_cast<size_t>(k)).get<double>()) <=
          1e-15);
}

// The tightest tolerance that the set gives for an update's loss.
double loss_tolerance(const json& tolerance, int64_t k) {
  if (k == 0) return tolerance.at("first_loss");
  if (k < 10) return tolerance.at("loss_first_10");
  return tolerance.at(k < 100 ? "loss_first_100" : "loss");
}

void compare(const std::string& variant) {
  const auto set = recorded(variant);
  if (!set) return;
  const auto& config = set->curve.at("config");
  ParityRun run({recipe_of(config), "modded_nanogpt", set->folder / "init.safetensors",
                 set->train.inputs, set->train.targets});
  const auto steps = config.at("num_iterations").get<int64_t>();
  size_t evaluated = 0;
  for (int64_t k = 0; k <= steps; ++k) {
    INFO("update ", k);
    const auto& evaluations = set->curve.at("val");
    if (evaluated < evaluations.size() && evaluations.at(evaluated).at("step") == k) {
      const double loss = validation_loss(run, set->validation, config.at("batch_size"));
      CHECK(std::abs(loss - evaluations.at(evaluated++).at("val").get<double>()) <=
            set->tolerance.at("val").get<double>());
    }
    if (k == steps) break;
    const StepResult result = run.step(k);
    const auto i = static_cast<size_t>(k);
    CHECK(std::abs(result.loss - set->curve.at("loss").at(i).get<double>()) <=
          loss_tolerance(set->tolerance, k));
    if (set->tolerance.contains("grad_norm"))
      CHECK(std::abs(result.grad_norm - set->curve.at("grad_norm").at(i).get<double>()) <=
            set->tolerance.at("grad_norm").get<double>());
    check_rates(run, set->curve.at("lr"), k);
  }
  CHECK(evaluated == set->curve.at("val").size());
  if (set->tolerance.contains("final_max_rel_norm"))
    check_final(run, set->folder / variant / "final.safetensors", set->tolerance);
}

}  // namespace

TEST_CASE("parity: record 8 in fp32, every update, evaluation and final weight" *
          doctest::test_suite("slow")) {
  compare("fp32");
}

TEST_CASE("parity: record 8 with its bf16 tables, iteration and updates" *
          doctest::test_suite("slow")) {
  compare("bf16");
}
