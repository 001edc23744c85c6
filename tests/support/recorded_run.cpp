#include "support/recorded_run.h"

#include <memory>
#include <sstream>

#include "base/format_units.h"
#include "engine/checkpoint/safetensors.h"
#include "support/coded_text.h"
#include "support/fixtures.h"
#include "support/foreign_names.h"
#include "support/replay.h"

namespace exprun {
namespace {

using nlohmann::json;

constexpr const char* kSet = "parity/nanogpt_char/";

std::string model_table(const json& curve, bool tie_embeddings) {
  const auto& model = curve.at("model_args");
  std::ostringstream toml;
  toml << "[model]\ntype = \"gpt\"\nnum_layers = " << model.at("n_layer")
       << "\nnum_heads = " << model.at("n_head") << "\nhidden_size = " << model.at("n_embd")
       << "\ncontext_length = " << model.at("block_size")
       << "\nvocab_size = " << model.at("vocab_size") << "\nbias = " << model.at("bias")
       << "\ndropout = " << model.at("dropout") << "\ntie_embeddings = " << std::boolalpha
       << tie_embeddings << "\n";
  return toml.str();
}

std::string optimizer_table(const json& config) {
  std::ostringstream toml;
  toml << "[optimizer]\ntype = \"adamw\"\nlr = " << config.at("learning_rate") << "\nbetas = ["
       << config.at("beta1") << ", " << config.at("beta2")
       << "]\nweight_decay = " << config.at("weight_decay")
       << "\nmax_grad_norm = " << config.at("grad_clip") << "\n";
  return toml.str();
}

std::string schedule_table(const json& config) {
  std::ostringstream toml;
  if (!config.at("decay_lr").get<bool>()) return "[schedule]\ntype = \"constant\"\n";
  const double fraction =
      config.at("min_lr").get<double>() / config.at("learning_rate").get<double>();
  toml << "[schedule]\ntype = \"cosine\"\nwarmup = \"" << config.at("warmup_iters")
       << " steps\"\nwarmup_form = \"(k+1)/(W+1)\"\ndecay_until = \"" << config.at("lr_decay_iters")
       << " steps\"\nmin_lr_factor = " << shortest(fraction) << "\n";
  return toml.str();
}

std::string data_tables(const json& config, const std::filesystem::path& order,
                        const std::filesystem::path& folder) {
  const auto micro_batch = config.at("batch_size").get<int64_t>();
  const auto accumulation = config.at("gradient_accumulation_steps").get<int64_t>();
  std::ostringstream toml;
  toml << "[dataset]\ntype = \"test_replay\"\norder = " << order
       << "\ntrain = " << folder / "train.bin"
       << "\nvalidation = " << folder / "val.bin"
       << "\n[batch]\nsequences = " << micro_batch * accumulation
       << "\nmicro_batch = " << micro_batch << "\n[metrics]\nval_loss = false\n"
       << "[evaluation.test_replay_loss]\nevery = \"" << config.at("eval_interval")
       << " steps\"\nsamples = " << config.at("eval_iters").get<int64_t>() * micro_batch << "\n";
  return toml.str();
}

RecipeText recipe_text(const RecordedRun& recorded, const TemporaryFolder& folder,
                       const std::string& more) {
  const auto coded = code_characters(recorded.text);
  folder.write("train.bin", coded.train);
  folder.write("val.bin", coded.validation);
  const auto& config = recorded.curve.at("config");
  const bool tied = !Safetensors(recorded.init).has("lm_head.weight");
  const size_t steps = recorded.curve.at("loss").size();
  const std::string toml = "[run]\nsteps = " + std::to_string(steps) + "\n" +
                           model_table(recorded.curve, tied) + optimizer_table(config) +
                           schedule_table(config) +
                           data_tables(config, recorded.order, folder.path()) + more;
  return {{std::make_shared<SourceFile>(SourceFile{"replay.toml", toml})}, {}};
}

}  // namespace

std::optional<RecordedRun> recorded_run() {
  const auto curve = json_fixture(std::string(kSet) + "curve.json");
  const auto tolerances = json_fixture("parity/tolerances.json");
  const auto init = fixture(std::string(kSet) + "init.safetensors");
  const auto order = fixture(std::string(kSet) + "order.safetensors");
  const auto text = fixture("data/tinyshakespeare.txt");
  if (!curve || !tolerances || !init || !order || !text) return std::nullopt;
  return RecordedRun{*curve, tolerances->at("recommended_abs_or_rel").at("nanogpt_char"), *init,
                     *order, *text};
}

ReplayedRun::ReplayedRun(const RecordedRun& recorded, const std::string& more)
    : schemas(replay_schemas()),
      recipe(resolve(recipe_text(recorded, folder, more), {}, schemas)),
      pipeline(build_pipeline(recipe, data)) {
  load_foreign(names_of("nanogpt"), Safetensors(recorded.init),
               pipeline.train_state.parameters->items());
}

}  // namespace exprun
