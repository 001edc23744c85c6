#include "engine/inference/loaded_model.h"

#include <ATen/core/grad_mode.h>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/machine/processor.h"
#include "engine/autotune/run_kernels.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/device/device.h"
#include "engine/device/thread_count.h"
#include "engine/precision/precision.h"
#include "engine/weights/import.h"

namespace exprun {
namespace {

PreparedData data_of(const nlohmann::json& request, const RunFolder& run) {
  PreparedData data;  // without a run no tokens, of either split
  if (const nlohmann::json& moved = request.at("data"); !moved.is_null())
    data = PreparedData::from_json(json_text(moved));
  else if (!run.path.empty())
    data = PreparedData::load(run.data());
  if (const nlohmann::json& tokenizer = request.at("tokenizer"); !tokenizer.is_null()) {
    data.tokenizer = tokenizer;
    data.vocab_size = load_tokenizer(tokenizer)->vocab_size();
  }
  return data;
}

// That there are no tokens is no mistake of a recipe that has no run.
DatasetInfo facts(const PreparedData& data, const RunFolder& run) {
  return run.path.empty() ? facts_of(*load_tokenizer(data.tokenizer)) : facts_of(data);
}

// A vocabulary that is rounded up has rows that other systems do not.
void import_all(const ResolvedRecipe& recipe, const TrainState& state) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : state.weights()) tensor.zero_();
  const auto imported =
      import_weights(recipe, state, {std::nullopt, "weights are measured as they are"});
  if (!imported) throw Error("evaluate: there are neither a checkpoint nor weights to import");
  for (const std::string& warning : imported->warnings) log_warning(warning);
}

}  // namespace

LoadedModel::LoadedModel(Purpose purpose, const nlohmann::json& request, const RunFolder& run,
                         const std::optional<std::filesystem::path>& checkpoint)
    : data_(data_of(request, run)),
      recipe_(resolve(RecipeText::from_json(json_text(request.at("recipe"))), facts(data_, run))) {
  std::optional<CheckpointState> state;
  if (checkpoint) state = read_checkpoint_state(*checkpoint);
  const Section settings = recipe_.section("run");
  const at::Device device = device_of_rank(chosen_device(settings), 0);
  use_device(device, settings.get<bool>("deterministic"));
  use_formats(recipe_.section("precision"));
  use_threads(state ? state->environment.threads
                    : thread_count(recipe_, *build_weights(recipe_, at::kMeta).model, device,
                                   own_cores().count()));
  choose_kernels(recipe_, state);
  pipeline_.emplace(purpose == Purpose::generation ? build_generation(recipe_, data_, device)
                                                   : build_evaluations(recipe_, data_, device));
  if (state) {
    load_weights(*checkpoint, pipeline_->train_state);
    load_averages(*checkpoint, pipeline_->train_state);
    step_ = state->position.step;
  } else {
    import_all(recipe_, pipeline_->train_state);
  }
  pipeline_->model().set_training(false);
}

}  // namespace exprun
