#include "engine/pipeline.h"

#include "base/diagnostic.h"
#include "base/strings.h"
#include "engine/data/text_bounds.h"
#include "engine/device/device.h"
#include "engine/precision/precision.h"
#include "recipe/quantities.h"

namespace exprun {
namespace {

// Null where the data have none; it knows how their texts begin and end.
std::unique_ptr<Tokenizer> tokenizer_of(const PreparedData& data, const Section& dataset) {
  if (data.tokenizer.is_null()) return nullptr;
  auto tokenizer = load_tokenizer(data.tokenizer);
  tokenizer->set_bounds(text_bounds(*tokenizer, dataset));
  return tokenizer;
}

Pipeline connect(const ResolvedRecipe& recipe, const PreparedData& data,
                 const std::shared_ptr<ProcessGroup>& group, at::Device device,
                 TrainState train_state, bool trains) {
  const Section section = recipe.section("dataset");
  const BatchShape batch = batch_shape(recipe);
  const DatasetContext context{data,
                               batch.sequence_length,
                               recipe.section("run").get<int64_t>("seed"),
                               batch.stride,
                               device,
                               trains};
  auto dataset = Registry<Dataset>::instance().find(section.type())(section, context);
  RunPlan plan = run_plan(recipe, dataset->samples_per_epoch(Split::train));
  const Section schedule = recipe.section("schedule");
  return {recipe,
          data.fingerprint,
          group,
          std::move(train_state),
          std::move(dataset),
          tokenizer_of(data, section),
          plan,
          Registry<Schedule>::instance().find(schedule.type())(schedule, plan.timeline),
          {},
          data.token_limit()};
}

NamedEvaluation build_evaluation(const Section& section, const std::string& name,
                                 const Timeline& timeline) {
  const std::string type = section.has("type") ? section.type() : name;
  return {name, timeline.to_steps(section, "every"),
          Registry<Evaluation>::instance().find(type)(section)};
}

// The recipe is right: its vocabulary has all tokens that were prepared.
Error damaged_shard(const Pipeline& pipeline, const TokenPlace& place) {
  const bool is_restored = is_made_of_text(pipeline.recipe.section("dataset").type());
  return Error("token shard: '" + place.file + "' is damaged: its token " +
               std::to_string(place.index) + " is " + std::to_string(place.token) +
               ", and the vocabulary has " + std::to_string(*pipeline.token_limit) +
               " tokens; `exprun data verify " + shell_quoted(place.file) + "` checks the file" +
               (!pipeline.train_state.optimizers ? ""
                : is_restored ? ", and `exprun resume RUN` prepares it again and continues"
                              : ", and `exprun resume RUN` continues once it is as it was"));
}

void add_evaluations(Pipeline& pipeline, const ResolvedRecipe& recipe) {
  const Section evaluations = recipe.section("evaluation");
  for (const std::string& name : evaluations.keys()) {
    pipeline.evaluations.push_back(
        build_evaluation(evaluations.table(name), name, pipeline.plan.timeline));
    pipeline.evaluations.back().evaluation->check(*pipeline.dataset, pipeline.tokenizer.get());
  }
}

}  // namespace

std::vector<NamedTensor> TrainState::weights() const {
  if (optimizers) return optimizers->parameter_tensors();
  std::vector<NamedTensor> weights;
  for (const Parameter& parameter : parameters->items())
    weights.push_back({parameter.name, parameter.tensor});
  return weights;
}

TrainState build_weights(const ResolvedRecipe& recipe, at::Device device) {
  const Section section = recipe.section("model");
  TrainState train_state;
  train_state.parameters =
      std::make_unique<ParameterList>(device, Precision::read(recipe.section("precision")));
  train_state.model =
      Registry<Model>::instance().find(section.type())(section, *train_state.parameters);
  train_state.model->set_device(device);
  return train_state;
}

TrainState build_train_state(const ResolvedRecipe& recipe, at::Device device,
                             std::shared_ptr<ProcessGroup> group) {
  TrainState train_state = build_weights(recipe, device);
  train_state.parameters->initialize(recipe.section("run").get<int64_t>("seed"));
  train_state.optimizers = std::make_unique<Optimizers>(
      recipe.section("optimizer"), train_state.parameters->items(),
      Parallelism::read(recipe.section("parallelism"), std::move(group)),
      UpdatePrecision::read(recipe.section("precision"),
                            recipe.section("run").get<int64_t>("seed")));
  if (const auto decay = recipe.section("run").get<double>("ema"); decay > 0)
    train_state.average = std::make_unique<WeightAverage>(decay, train_state.parameters->items());
  const Optimizers& optimizers = *train_state.optimizers;
  train_state.model->await_values_by(
      [&optimizers](size_t count) { optimizers.await_values(count); });
  return train_state;
}

Pipeline build_pipeline(const ResolvedRecipe& recipe, const PreparedData& data,
                        std::shared_ptr<ProcessGroup> group, at::Device device) {
  Pipeline pipeline =
      connect(recipe, data, group, device, build_train_state(recipe, device, group), true);
  add_evaluations(pipeline, recipe);
  return pipeline;
}

Pipeline build_evaluations(const ResolvedRecipe& recipe, const PreparedData& data,
                           at::Device device) {
  Pipeline pipeline =
      connect(recipe, data, single_process(), device, build_weights(recipe, device), false);
  add_evaluations(pipeline, recipe);
  return pipeline;
}

Pipeline build_generation(const ResolvedRecipe& recipe, const PreparedData& data,
                          at::Device device) {
  return {recipe,
          data.fingerprint,
          single_process(),
          build_weights(recipe, device),
          nullptr,
          tokenizer_of(data, recipe.section("dataset")),
          {},
          nullptr,
          {}};
}

Pipeline::Share Pipeline::share() const {
  const int64_t count = plan.batch.sequences / group->world_size();
  return {group->rank() * count, count};
}

NumericEnvironment Pipeline::environment() const {
  NumericEnvironment environment = numeric_environment();
  environment.device = device_name(model().device());
  environment.world_size = group->world_size();
  environment.strategy = recipe.section("parallelism").get<std::string>("strategy");
  return environment;
}

Batch Pipeline::read(Split split, int64_t first_sample, int64_t count) const {
  Batch batch = dataset->batch(split, first_sample, count);
  const Section section = recipe.section("model");
  const int64_t vocabulary =
      section.has("vocab_size") ? section.get<int64_t>("vocab_size") : model().vocab_size();
  if (batch.largest_token < vocabulary) return batch;
  const auto place = dataset->find_token(split, first_sample, count, vocabulary);
  if (place && token_limit && place->token >= *token_limit) throw damaged_shard(*this, *place);
  const std::string token = std::to_string(place ? place->token : batch.largest_token);
  throw section.error(
      "vocab_size",
      "token id " + token + " >= vocab_size " + std::to_string(vocabulary) +
          (place ? ", at token " + std::to_string(place->index) + " of '" + place->file + "'" : ""),
      "set vocab_size above " + token + " if the tokenizer has this token; otherwise " +
          (place ? "the" : "a") + " file is damaged");
}

}  // namespace exprun
