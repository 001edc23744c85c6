#include "engine/checkpoint/checkpoint.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <set>

#include "base/diagnostic.h"
#include "base/files/atomic_folder.h"
#include "base/files/checkpoints.h"
#include "base/files/file.h"
#include "base/files/run_folder.h"
#include "base/format_units.h"
#include "base/json_text.h"
#include "engine/autotune/autotune.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/device/cpu_memory.h"
#include "engine/device/device.h"

namespace exprun {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kFormatVersion = 1;
constexpr const char* kUpdates = "updates";  // in the metadata of averages

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

json to_json(const DivergenceState& state) {
  json rollback_step = nullptr;
  if (state.rollback_step) rollback_step = *state.rollback_step;
  return {{"losses", state.losses},           {"grad_norms", state.grad_norms},
          {"skipped", state.skipped},         {"skipped_in_row", state.skipped_in_row},
          {"passed_over", state.passed_over}, {"rollback_step", rollback_step},
          {"rollbacks", state.rollbacks}};
}

DivergenceState divergence_state(const json& json) {
  DivergenceState state{json.at("losses"), json.at("grad_norms"), json.at("skipped"),
                        json.at("skipped_in_row"), json.at("passed_over")};
  if (const auto& step = json.at("rollback_step"); !step.is_null()) state.rollback_step = step;
  state.rollbacks = json.at("rollbacks");
  return state;
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
          {"improved_to", position.improved_to ? json(*position.improved_to) : json()},
          {"without_improvement", position.without_improvement},
          {"loss_scale",
           {{"value", position.loss_scale.value}, {"updates", position.loss_scale.updates}}},
          {"optimizer_start", position.optimizer_start},
          {"divergence", to_json(position.divergence)},
          {"recipe_hash", state.recipe_hash},
          {"data_fingerprint", state.data_fingerprint},
          {"threads", state.environment.threads},
          {"instruction_set", state.environment.instruction_set},
          {"libtorch", state.environment.libtorch},
          {"blas", state.environment.blas},
          {"onednn", state.environment.onednn},
          {"world_size", state.environment.world_size},
          {"strategy", state.environment.strategy},
          {"device", state.environment.device},
          {"kernels", state.kernels}};
}

CheckpointState from_json(const json& json) {
  CheckpointState state;
  state.position.step = json.at("step");
  state.position.evaluated = json.at("evaluated");
  if (const auto& best = json.at("best"); !best.is_null())
    state.position.best = Best{best.at("value"), best.at("step")};
  // Written since early_stop compares with another value than the best.
  const auto improved_to = json.find("improved_to");
  if (improved_to == json.end())
    state.position.improved_to =
        state.position.best ? std::optional(state.position.best->value) : std::nullopt;
  else if (!improved_to->is_null())
    state.position.improved_to = *improved_to;
  state.position.without_improvement =
      json.value("without_improvement", json.value("without_best", int64_t{0}));
  if (const auto scale = json.find("loss_scale"); scale != json.end())
    state.position.loss_scale = {scale->at("value"), scale->at("updates")};
  state.position.optimizer_start = json.value("optimizer_start", int64_t{0});
  if (const auto found = json.find("divergence"); found != json.end())
    state.position.divergence = divergence_state(*found);
  state.tokens = json.at("tokens");
  state.recipe_hash = json.at("recipe_hash");
  state.data_fingerprint = json.at("data_fingerprint");
  state.environment = {json.at("threads"),
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

  // Of its metadata.
  int64_t count(const std::string& key) const {
    const auto found = stored_.metadata().find(key);
    const auto count =
        found == stored_.metadata().end() ? std::nullopt : parse_number<int64_t>(found->second);
    if (count && *count > 0) return *count;
    throw Error("checkpoint: '" + file_.string() + "' does not say its number of " + key);
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

void load_average(const fs::path& folder, WeightAverage& average) {
  if (!fs::exists(folder / kAverageFile)) {
    average.restore(0);
    return;
  }
  const StoredTensors stored(folder / kAverageFile);
  const auto averages = average.restore(stored.count(kUpdates));
  for (const auto& [name, target] : averages)
    target.copy_(stored.tensor(name, target.sizes(), target.scalar_type()));
  stored.require_count(averages.size());
}

std::string text_of(at::IntArrayRef shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

// What a file has otherwise than what is looked up in it, a line each.
class TensorComparison {
 public:
  explicit TensorComparison(const fs::path& file) : stored_(file) {
    for (std::string& name : stored_.names()) unused_.insert(std::move(name));
  }

  void look_up(const std::string& name, at::IntArrayRef shape, at::ScalarType dtype) {
    unused_.erase(name);
    if (!stored_.has(name)) {
      lines_.push_back(name + ": " + text_of(shape) + " in the recipe, not in the checkpoint");
      return;
    }
    const at::Tensor found = stored_.tensor(name);
    has_other_shapes_ = has_other_shapes_ || found.sizes() != shape;
    if (found.sizes() != shape)
      lines_.push_back(name + ": " + text_of(shape) + " in the recipe, " + text_of(found.sizes()) +
                       " in the checkpoint");
    else if (found.scalar_type() != dtype)
      lines_.push_back(name + ": " + c10::toString(dtype) + " in the recipe, " +
                       c10::toString(found.scalar_type()) + " in the checkpoint");
  }

  std::vector<std::string> lines() const {
    std::vector<std::string> all = lines_;
    for (const std::string& name : unused_) all.push_back(name + ": only in the checkpoint");
    return all;
  }
  bool has_other_shapes() const { return has_other_shapes_; }

 private:
  Safetensors stored_;
  std::set<std::string> unused_;
  std::vector<std::string> lines_;
  bool has_other_shapes_ = false;
};

}  // namespace

TensorDifferences differences_from(const fs::path& folder, const TrainState& train_state) {
  TensorDifferences differences;
  TensorComparison model(folder / kModelFile);
  for (const auto& [name, target] : train_state.weights())
    model.look_up(name, target.sizes(), target.scalar_type());
  differences.model = model.lines();
  differences.has_other_shapes = model.has_other_shapes();
  // Averages go with the optimizer's state: a fork drops both or neither.
  if (train_state.average && fs::exists(folder / kAverageFile)) {
    TensorComparison average(folder / kAverageFile);
    for (const Parameter& parameter : train_state.parameters->items())
      if (!parameter.is_frozen())
        average.look_up(parameter.name, parameter.tensor.sizes(), at::kFloat);
    for (const std::string& line : average.lines())
      differences.optimizer.push_back("average of " + line);
  }
  if (!fs::exists(folder / kOptimizerFile)) return differences;
  TensorComparison state(folder / kOptimizerFile);
  train_state.optimizers->load_state([&](const auto& name, const auto& shape, auto dtype) {
    state.look_up(name, shape, dtype);
    return at::empty(shape, at::TensorOptions(at::kMeta).dtype(dtype));
  });
  for (std::string& line : state.lines()) differences.optimizer.push_back(std::move(line));
  return differences;
}

Snapshot take_snapshot(const Pipeline& pipeline, const Position& position) {
  const RunPlan& plan = pipeline.plan;
  give_back_idle_cpu_memory();  // the copies take as much as the model
  const auto& average = pipeline.train_state.average;
  return {
      {position, position.step * plan.batch.tokens(), pipeline.recipe.hash(),
       pipeline.data_fingerprint, pipeline.environment(), autotune::save()},
      copies(pipeline.optimizers().parameter_tensors(), pipeline.model().device()),
      pipeline.optimizers().gathered_state(),
      copies(average ? average->tensors() : std::vector<NamedTensor>(), pipeline.model().device()),
      pipeline.recipe.section("model").find<int64_t>("vocab_size"),
      average ? average->updates() : 0};
}

void write_checkpoint(const Snapshot& snapshot, const fs::path& folder) {
  AtomicFolder writing(folder);
  write_safetensors(writing.path() / kModelFile, snapshot.parameters,
                    vocabulary_metadata(snapshot.vocab_size));
  write_safetensors(writing.path() / kOptimizerFile, snapshot.optimizer);
  if (!snapshot.average.empty())
    write_safetensors(writing.path() / kAverageFile, snapshot.average,
                      {{kUpdates, std::to_string(snapshot.averaged_updates)}});
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

void load_averages(const fs::path& folder, const TrainState& train_state) {
  const at::NoGradGuard no_grad;
  if (!fs::exists(folder / kAverageFile)) return;
  const Safetensors averages(folder / kAverageFile);
  for (const std::string& name : averages.names())
    if (const Parameter* parameter = train_state.parameters->find(name)) {
      at::Tensor weight = parameter->tensor;
      weight.copy_(averages.tensor(name));
    }
}

void load_weights(const fs::path& folder, const TrainState& train_state) {
  const at::NoGradGuard no_grad;
  const StoredTensors model(folder / kModelFile);
  const auto weights = train_state.weights();
  for (const auto& [name, target] : weights)
    target.copy_(model.tensor(name, target.sizes(), target.scalar_type()));
  model.require_count(weights.size());
}

void load_tensors(const fs::path& folder, const Pipeline& pipeline) {
  const at::NoGradGuard no_grad;
  load_weights(folder, pipeline.train_state);
  if (const auto& average = pipeline.train_state.average) load_average(folder, *average);
  if (!fs::exists(folder / kOptimizerFile)) return;
  const StoredTensors state(folder / kOptimizerFile);
  pipeline.optimizers().load_state([&](const auto& name, const auto& shape, auto dtype) {
    return state.tensor(name, shape, dtype);
  });
  state.require_count(pipeline.optimizers().state_size().tensors);
}

}  // namespace exprun
