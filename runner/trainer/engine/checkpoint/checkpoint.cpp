#include "engine/checkpoint/checkpoint.h"

#include <ATen/core/grad_mode.h>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/file.h"
#include "base/json_text.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/device/autotune.h"
#include "engine/device/cpu_memory.h"
#include "engine/device/device.h"

namespace exprun {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kFormatVersion = 1;
constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kStateFile = "state.json";

// A device makes all of them at once.
std::vector<NamedTensor> copies(std::vector<NamedTensor> tensors, at::Device device) {
  const at::NoGradGuard no_grad;
  for (NamedTensor& named : tensors) {
    const at::Tensor copy = host_memory(named.tensor.sizes(), named.tensor.options());
    copy.copy_(named.tensor, /*non_blocking=*/true);
    named.tensor = copy;
  }
  await(device);
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
          {"world_size", state.machine.world_size},
          {"strategy", state.machine.strategy},
          {"device", state.machine.device},
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
  state.machine = {json.at("threads"),
                   json.at("instruction_set"),
                   json.at("libtorch"),
                   json.at("blas"),
                   json.at("onednn"),
                   json.value("world_size", 1),
                   json.value("strategy", "ddp"),
                   json.value("device", "cpu")};
  state.kernels = json.at("kernels");
  return state;
}

void check_format_version(const json& json, const fs::path& file) {
  const int version = json.at("format_version");
  if (version > kFormatVersion)
    throw Error("checkpoint: '" + file.string() + "' has format " + std::to_string(version) +
                ", but this exprun reads formats up to " + std::to_string(kFormatVersion) +
                "; use the exprun that wrote it, or a newer one");
}

class StoredTensors {
 public:
  explicit StoredTensors(fs::path file) : file_(std::move(file)), stored_(file_) {}

  at::Tensor tensor(const std::string& name, at::IntArrayRef shape, at::ScalarType dtype) const {
    at::Tensor found = stored_.tensor(name);
    if (found.sizes() == shape && found.scalar_type() == dtype) return found;
    throw Error("checkpoint: '" + name + "' in '" + file_.string() +
                "' has a different shape or dtype than in the recipe's model");
  }

  void require_count(size_t expected) const {
    if (const size_t count = stored_.names().size(); count != expected)
      throw Error("checkpoint: '" + file_.string() + "' has " + std::to_string(count) +
                  " tensors, but the recipe needs " + std::to_string(expected));
  }

 private:
  fs::path file_;
  Safetensors stored_;
};

}  // namespace

Snapshot take_snapshot(const Pipeline& pipeline, const Position& position) {
  const RunPlan& plan = pipeline.plan;
  give_back_idle_cpu_memory();  // the copies take as much as the model
  return {{position, position.step * plan.batch.tokens(), pipeline.recipe.hash(),
           pipeline.data_fingerprint, pipeline.machine(), autotune::save()},
          copies(pipeline.optimizers().parameter_tensors(), pipeline.model().device()),
          pipeline.optimizers().gathered_state()};
}

void write_checkpoint(const Snapshot& snapshot, const fs::path& folder) {
  AtomicFolder writing(folder);
  write_safetensors(writing.path() / kModelFile, snapshot.parameters);
  write_safetensors(writing.path() / kOptimizerFile, snapshot.optimizer);
  write_file_atomically(writing.path() / kStateFile, json_text(to_json(snapshot.state), 1) + "\n");
  writing.commit();
}

CheckpointState read_checkpoint_state(const fs::path& folder) {
  const fs::path file = folder / kStateFile;
  try {
    const json parsed = parse_json<json>(read_file(file));
    check_format_version(parsed, file);
    return from_json(parsed);
  } catch (const json::exception& error) {
    throw Error("checkpoint: '" + file.string() + "' is damaged (" + error.what() +
                "); remove its folder to continue from the previous checkpoint");
  }
}

void load_tensors(const fs::path& folder, const Pipeline& pipeline) {
  const at::NoGradGuard no_grad;
  const StoredTensors model(folder / kModelFile), state(folder / kOptimizerFile);
  const auto parameters = pipeline.optimizers().parameter_tensors();
  for (const auto& [name, target] : parameters)
    target.copy_(model.tensor(name, target.sizes(), target.scalar_type()));
  model.require_count(parameters.size());
  pipeline.optimizers().load_state([&](const auto& name, const auto& shape, auto dtype) {
    return state.tensor(name, shape, dtype);
  });
  state.require_count(pipeline.optimizers().state_size().tensors);
}

}  // namespace exprun
