#include "engine/checkpoint.h"

#include <ATen/core/grad_mode.h>

#include "base/atomic_file.h"
#include "base/diagnostic.h"
#include "engine/kernel_choices.h"
#include "engine/safetensors.h"

namespace exprun {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kFormatVersion = 1;
constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kStateFile = "state.json";

std::vector<NamedTensor> copies(std::vector<NamedTensor> tensors) {
  for (NamedTensor& named : tensors) named.tensor = named.tensor.detach().clone();
  return tensors;
}

json to_json(const CheckpointState& state) {
  const Position& position = state.position;
  json best = nullptr;
  if (position.best) best = {{"value", position.best->value}, {"step", position.best->step}};
  return {{"format_version", kFormatVersion},
          {"step", position.step},
          {"tokens", state.tokens},
          {"evaluated", position.evaluated},
          {"best", best},
          {"without_best", position.without_best},
          {"loss_scale",
           {{"value", position.loss_scale.value}, {"updates", position.loss_scale.updates}}},
          {"recipe_hash", state.recipe_hash},
          {"data_fingerprint", state.data_fingerprint},
          {"threads", state.machine.threads},
          {"instruction_set", state.machine.instruction_set},
          {"libtorch", state.machine.libtorch},
          {"blas", state.machine.blas},
          {"onednn", state.machine.onednn},
          {"kernels", state.kernels}};
}

CheckpointState from_json(const json& json) {
  CheckpointState state;
  state.position.step = json.at("step");
  state.position.evaluated = json.at("evaluated");
  if (const auto& best = json.at("best"); !best.is_null())
    state.position.best = Best{best.at("value"), best.at("step")};
  state.position.without_best = json.value("without_best", int64_t{0});
  if (const auto scale = json.find("loss_scale"); scale != json.end())
    state.position.loss_scale = {scale->at("value"), scale->at("updates")};
  state.tokens = json.at("tokens");
  state.recipe_hash = json.at("recipe_hash");
  state.data_fingerprint = json.at("data_fingerprint");
  state.machine = {json.at("threads"), json.at("instruction_set"), json.at("libtorch"),
                   json.at("blas"), json.at("onednn")};
  state.kernels = json.at("kernels");
  return state;
}

void check_format_version(const json& json, const fs::path& file) {
  const int version = json.at("format_version");
  if (version > kFormatVersion)
    throw Error("checkpoint: '" + file.string() + "' has format " + std::to_string(version) +
                ", this exprun reads up to " + std::to_string(kFormatVersion) +
                "; use the exprun that wrote it, or a newer one");
}

void load_into(const fs::path& file, const std::vector<NamedTensor>& targets) {
  const Safetensors stored(file);
  for (const auto& [name, target] : targets) {
    const at::Tensor source = stored.tensor(name);
    if (source.sizes() != target.sizes() || source.scalar_type() != target.scalar_type())
      throw Error("checkpoint: '" + name + "' in '" + file.string() +
                  "' has another shape or dtype than the model of the recipe");
    target.copy_(source);
  }
  if (const size_t count = stored.names().size(); count != targets.size())
    throw Error("checkpoint: '" + file.string() + "' has " + std::to_string(count) +
                " tensors, the recipe's has " + std::to_string(targets.size()));
}

}  // namespace

Snapshot take_snapshot(const Pipeline& pipeline, const Position& position) {
  const RunPlan& plan = pipeline.plan;
  return {{position, position.step * plan.batch.tokens(), pipeline.recipe.hash(),
           pipeline.data_fingerprint, this_machine(), kernel_choices::save()},
          copies(pipeline.optimizers().parameter_tensors()),
          copies(pipeline.optimizers().state_tensors())};
}

void write_checkpoint(const Snapshot& snapshot, const fs::path& folder) {
  AtomicFolder writing(folder);
  write_safetensors(writing.path() / kModelFile, snapshot.parameters);
  write_safetensors(writing.path() / kOptimizerFile, snapshot.optimizer);
  write_file_atomically(writing.path() / kStateFile, to_json(snapshot.state).dump(1) + "\n");
  writing.commit();
}

CheckpointState read_checkpoint_state(const fs::path& folder) {
  const fs::path file = folder / kStateFile;
  try {
    const json parsed = json::parse(read_file(file));
    check_format_version(parsed, file);
    return from_json(parsed);
  } catch (const json::exception& error) {
    throw Error("checkpoint: '" + file.string() + "' is damaged (" + error.what() +
                "); remove its folder to continue from the one before");
  }
}

void load_tensors(const fs::path& folder, const Pipeline& pipeline) {
  const at::NoGradGuard no_grad;
  load_into(folder / kModelFile, pipeline.optimizers().parameter_tensors());
  load_into(folder / kOptimizerFile, pipeline.optimizers().state_tensors());
}

}  // namespace exprun
