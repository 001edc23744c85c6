#include "engine/pipeline.h"

#include "engine/device/device.h"

namespace exprun {

namespace {

Pipeline connect(const ResolvedRecipe& recipe, const PreparedData& data,
                 const std::shared_ptr<ProcessGroup>& group, at::Device device) {
  const Section section = recipe.section("dataset");
  const BatchShape batch = batch_shape(recipe);
  const DatasetContext context{data, batch.sequence_length,
                               recipe.section("run").get<int64_t>("seed"), batch.stride, device};
  auto dataset = Registry<Dataset>::instance().find(section.type())(section, context);
  RunPlan plan = run_plan(recipe, dataset->samples_per_epoch(Split::train));
  const Section schedule = recipe.section("schedule");
  return {recipe,
          data.fingerprint,
          group,
          build_learner(recipe, device, group),
          std::move(dataset),
          data.tokenizer.is_null() ? nullptr : load_tokenizer(data.tokenizer),
          plan,
          Registry<Schedule>::instance().find(schedule.type())(schedule, plan.timeline),
          {}};
}

NamedEvaluation build_evaluation(const Section& section, const std::string& name,
                                 const Timeline& timeline) {
  const std::string type = section.has("type") ? section.type() : name;
  return {name, timeline.to_steps(section, "every"),
          Registry<Evaluation>::instance().find(type)(section)};
}

}  // namespace

Learner build_learner(const ResolvedRecipe& recipe, at::Device device,
                      std::shared_ptr<ProcessGroup> group) {
  const Section section = recipe.section("model");
  Learner learner;
  learner.parameters =
      std::make_unique<ParameterList>(device, Precision::read(recipe.section("precision")));
  learner.model = Registry<Model>::instance().find(section.type())(section, *learner.parameters);
  learner.model->set_device(device);
  learner.parameters->initialize(recipe.section("run").get<int64_t>("seed"));
  learner.optimizers = std::make_unique<Optimizers>(
      recipe.section("optimizer"), learner.parameters->items(),
      Parallelism::read(recipe.section("parallelism"), std::move(group)),
      UpdatePrecision::read(recipe.section("precision"),
                            recipe.section("run").get<int64_t>("seed")));
  const Optimizers& optimizers = *learner.optimizers;
  learner.model->await_values_by([&optimizers](size_t count) { optimizers.await_values(count); });
  return learner;
}

Pipeline build_pipeline(const ResolvedRecipe& recipe, const PreparedData& data,
                        std::shared_ptr<ProcessGroup> group, at::Device device) {
  Pipeline pipeline = connect(recipe, data, group, device);
  const Section evaluations = recipe.section("evaluation");
  for (const std::string& name : evaluations.keys()) {
    pipeline.evaluations.push_back(
        build_evaluation(evaluations.table(name), name, pipeline.plan.timeline));
    pipeline.evaluations.back().evaluation->check(*pipeline.dataset, pipeline.tokenizer.get());
  }
  return pipeline;
}

Pipeline::Share Pipeline::share() const {
  const int64_t count = plan.batch.sequences / group->world_size();
  return {group->rank() * count, count};
}

Machine Pipeline::machine() const {
  Machine machine = this_machine();
  machine.device = device_name(model().device());
  machine.world_size = group->world_size();
  machine.strategy = recipe.section("parallelism").get<std::string>("strategy");
  return machine;
}

Batch Pipeline::read(Split split, int64_t first_sample, int64_t count) const {
  Batch batch = dataset->batch(split, first_sample, count);
  const Section section = recipe.section("model");
  const int64_t vocabulary =
      section.has("vocab_size") ? section.get<int64_t>("vocab_size") : model().vocab_size();
  if (batch.largest_token >= vocabulary)
    throw section.error("vocab_size", "token id " + std::to_string(batch.largest_token) +
                                          " >= vocab_size " + std::to_string(vocabulary));
  return batch;
}

}  // namespace exprun
