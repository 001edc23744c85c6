#include "engine/describe.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/json_text.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/weights/import.h"
#include "recipe/quantities.h"
#include "recipe/recipe_text.h"

namespace exprun {
namespace {

using nlohmann::json;

int64_t bytes_of(const std::vector<NamedTensor>& tensors) {
  int64_t bytes = 0;
  for (const NamedTensor& named : tensors) bytes += static_cast<int64_t>(named.tensor.nbytes());
  return bytes;
}

int64_t elements_of(const std::vector<Parameter>& parameters) {
  int64_t elements = 0;
  for (const Parameter& parameter : parameters) elements += parameter.tensor.numel();
  return elements;
}

// By the first part of the name, in the order of the model: "blocks", "final_norm".
json parameters_by_part(const ParameterList& parameters) {
  std::vector<std::pair<std::string, int64_t>> parts;
  for (const Parameter& parameter : parameters.items()) {
    const std::string part = parameter.name.substr(0, parameter.name.find('.'));
    if (parts.empty() || parts.back().first != part) parts.emplace_back(part, 0);
    parts.back().second += parameter.tensor.numel();
  }
  json result = json::array();
  for (const auto& [name, count] : parts) result.push_back({{"name", name}, {"count", count}});
  return result;
}

int64_t decayed_elements(const OptimizerGroup& group) {
  return group.section.get<double>("weight_decay") == 0 ? 0 : elements_of(group.decayed);
}

json groups(const Optimizers& optimizers) {
  json result = json::array();
  for (const OptimizerGroup& group : optimizers.groups()) {
    result.push_back({{"name", group.name},
                      {"optimizer", group.section.type()},
                      {"parameters", elements_of(group.decayed) + elements_of(group.undecayed)},
                      {"decayed", decayed_elements(group)}});
  }
  return result;
}

DatasetInfo facts_from(const json& json) {
  const auto read = [&](const char* key) -> std::optional<int64_t> {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) return std::nullopt;
    return found->get<int64_t>();
  };
  DatasetInfo info{read("vocab_size"), read("train_tokens"), read("validation_tokens"), {}};
  if (const auto sequences = read("train_sequences"))
    info.train_sequences = PackedSequences([sequences](int64_t, bool) { return *sequences; });
  return info;
}

// As the dataset will count them, without opening it.
int64_t training_samples(const ResolvedRecipe& recipe, const DatasetInfo& dataset_info) {
  return tokens_per_epoch(recipe.root(), dataset_info) / batch_shape(recipe).sequence_length;
}

void require_known_vocabulary(const ResolvedRecipe& recipe) {
  const Value* vocabulary = recipe.find("model.vocab_size");
  if (vocabulary && !vocabulary->as<int64_t>())
    throw Error(
        "describe: the vocabulary size is unknown until the data is prepared; run the recipe, or "
        "set model.vocab_size");
}

json epochs(const Timeline& timeline) {
  if (timeline.tokens_per_epoch == 0) return nullptr;
  return static_cast<double>(timeline.steps) * static_cast<double>(timeline.tokens_per_step) /
         static_cast<double>(timeline.tokens_per_epoch);
}

json description(const ResolvedRecipe& recipe, const DatasetInfo& dataset_info,
                 at::DeviceType device) {
  const auto ranks = recipe.section("parallelism").find<int64_t>("world_size").value_or(1);
  const TrainState train_state =
      build_train_state(recipe, at::kMeta, imagined_ranks(static_cast<int>(ranks)));
  require_importable(recipe, train_state);
  const RunPlan plan = run_plan(recipe, training_samples(recipe, dataset_info));
  const MemoryPlan memory = memory_plan(train_state, plan.batch, device);
  const int64_t micro_batches =
      (plan.batch.sequences + plan.batch.micro_batch - 1) / plan.batch.micro_batch;
  return {{"parameters", train_state.parameters->count()},
          {"trainable_parameters", train_state.parameters->trainable_count()},
          {"parameters_by_part", parameters_by_part(*train_state.parameters)},
          {"groups", groups(*train_state.optimizers)},
          {"tokens_per_step", plan.batch.tokens()},
          {"steps", plan.timeline.steps},
          {"tokens", plan.timeline.steps * plan.batch.tokens()},
          {"epochs", epochs(plan.timeline)},
          {"micro_batch", plan.batch.micro_batch},
          {"gradient_accumulation", micro_batches / ranks},
          {"flops_per_token", train_state.model->flops_per_token(plan.batch.sequence_length)},
          {"memory",
           {{"weights", memory.weights},
            {"gradients", memory.gradients},
            {"optimizer", memory.optimizer},
            {"activations", memory.activations},
            {"checkpoint_copy", memory.checkpoint_copy}}},
          {"checkpoints", checkpoints_after(plan, 0)},
          {"checkpoint_bytes", checkpoint_bytes(train_state)}};
}

json peaks(const Section& optimizer, double scale) {
  json result = json::object();
  if (optimizer.has("lr")) result["default"] = scale * optimizer.get<double>("lr");
  const Section groups = optimizer.table("groups");
  for (const std::string& name : groups.keys())
    result[name] = scale * groups.table(name).get<double>("lr");
  return result;
}

// Evenly over the run, both ends included.
json points(const Schedule& schedule, int64_t steps) {
  constexpr int64_t kMost = 240;
  const int64_t count = std::min(steps, kMost);
  json result = json::array();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t k = count == 1 ? 0 : i * (steps - 1) / (count - 1);
    result.push_back({k, schedule.factor(k)});
  }
  return result;
}

std::unique_ptr<Schedule> schedule_of(const ResolvedRecipe& recipe, const RunPlan& plan) {
  const Section section = recipe.section("schedule");
  return Registry<Schedule>::instance().find(section.type())(section, plan.timeline);
}

json schedule_description(const ResolvedRecipe& recipe, const DatasetInfo& dataset_info) {
  const RunPlan plan = run_plan(recipe, training_samples(recipe, dataset_info));
  const auto schedule = schedule_of(recipe, plan);
  return {{"type", recipe.section("schedule").type()},
          {"steps", plan.timeline.steps},
          {"peaks", peaks(recipe.section("optimizer"), plan.lr_scale)},
          {"points", points(*schedule, plan.timeline.steps)}};
}

json rates_comparison(const ResolvedRecipe& recipe, const ResolvedRecipe& before, int64_t steps,
                      const DatasetInfo& dataset_info) {
  const RunPlan plan = run_plan(recipe, training_samples(recipe, dataset_info));
  const RunPlan plan_before = run_plan(before, training_samples(before, dataset_info));
  const auto schedule = schedule_of(recipe, plan),
             schedule_before = schedule_of(before, plan_before);
  const int64_t steps_before = plan_before.timeline.steps;
  json result{{"k", nullptr},
              {"steps", plan.timeline.steps},
              {"steps_before", steps_before},
              {"end_before", schedule_before->factor(steps_before)}};
  for (int64_t k = 0; k < steps; ++k) {
    const double now = schedule->factor(k), then = schedule_before->factor(k);
    if (now == then) continue;
    result.update({{"k", k}, {"now", now}, {"before", then}});
    break;
  }
  return result;
}

json checkpoint_comparison(const ResolvedRecipe& recipe, const std::string& folder) {
  const TensorDifferences found = differences_from(folder, build_train_state(recipe, at::kMeta));
  return {{"model", found.model},
          {"has_other_shapes", found.has_other_shapes},
          {"optimizer", found.optimizer}};
}

// Refuses weights that do not fit; nothing else is asked.
json weights_check(const ResolvedRecipe& recipe) {
  require_importable(recipe, build_train_state(recipe, at::kMeta));
  return json::object();
}

RecipeText text_in(const json& request, const char* key) {
  return RecipeText::from_json(json_text(request.at(key)));
}

int64_t average_bytes(const TrainState& train_state) {
  return train_state.average ? train_state.average->bytes() : 0;
}

}  // namespace

MemoryPlan memory_plan(const TrainState& train_state, const BatchShape& batch,
                       at::DeviceType device) {
  const int64_t weights = bytes_of(train_state.optimizers->parameter_tensors());
  int64_t gradients = 0;
  for (const Parameter& parameter : train_state.parameters->items())
    if (!parameter.is_frozen()) gradients += static_cast<int64_t>(parameter.tensor.grad().nbytes());
  const int64_t optimizer =
      train_state.optimizers->state_size().bytes_here + average_bytes(train_state);
  return {weights, gradients, optimizer,
          static_cast<int64_t>(train_state.model->activation_bytes(batch.micro_batch,
                                                                   batch.sequence_length, device)),
          device == at::kCPU ? checkpoint_bytes(train_state) : 0};
}

int64_t checkpoint_bytes(const TrainState& train_state) {
  return bytes_of(train_state.optimizers->parameter_tensors()) +
         train_state.optimizers->state_size().bytes + average_bytes(train_state);
}

json describe(const std::string& request) {
  const json parsed = parse_json_or_discard<json>(request);
  if (!parsed.is_object() || !parsed.contains("recipe"))
    throw Error("describe: the request is not a JSON object with a recipe");
  const RecipeText text = text_in(parsed, "recipe");
  const DatasetInfo dataset_info = facts_from(parsed.value("facts", json::object()));
  const ResolvedRecipe recipe = resolve(text, dataset_info);
  const std::string only = parsed.value("only", "");
  if (only == "schedule") return schedule_description(recipe, dataset_info);
  if (only == "rates")
    return rates_comparison(recipe, resolve(text_in(parsed, "before"), dataset_info),
                            parsed.at("steps"), dataset_info);
  require_known_vocabulary(recipe);
  if (only == "weights") return weights_check(recipe);
  if (only == "checkpoint") return checkpoint_comparison(recipe, parsed.at("folder"));
  return description(recipe, dataset_info,
                     parsed.value("device", "cpu") == "cpu" ? at::kCPU : at::kCUDA);
}

}  // namespace exprun
