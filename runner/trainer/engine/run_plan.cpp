#include "engine/run_plan.h"

namespace exprun {

namespace {

int64_t run_steps(const Section& run, const Timeline& timeline) {
  if (const auto steps = run.find<int64_t>("steps")) return *steps;
  return timeline.to_steps(run, "length");
}

Period checkpoint_period(const Section& checkpoint, const Timeline& timeline) {
  const auto period = checkpoint.get<Period>("every");
  if (period.unit == PeriodUnit::seconds) return period;
  return {static_cast<double>(timeline.to_steps(checkpoint, "every")), PeriodUnit::steps};
}

}  // namespace

BatchShape batch_shape(const ResolvedRecipe& recipe) {
  const Section batch = recipe.section("batch");
  BatchShape shape;
  shape.sequence_length = batch.get<int64_t>("sequence_length");
  shape.micro_batch = batch.get<int64_t>("micro_batch");
  const auto sequences = batch.find<int64_t>("sequences");
  shape.sequences = sequences ? *sequences : batch.get<int64_t>("tokens") / shape.sequence_length;
  return shape;
}

RunPlan run_plan(const ResolvedRecipe& recipe, int64_t samples_per_epoch) {
  const Section run = recipe.section("run");
  const Section metrics = recipe.section("metrics");
  const Section checkpoint = recipe.section("checkpoint");
  RunPlan plan;
  plan.name = run.get<std::string>("name");
  plan.seed = run.get<int64_t>("seed");
  plan.batch = batch_shape(recipe);
  plan.timeline.tokens_per_step = plan.batch.tokens();
  plan.timeline.tokens_per_epoch = samples_per_epoch * plan.batch.sequence_length;
  plan.timeline.steps = run_steps(run, plan.timeline);
  plan.max_grad_norm = recipe.section("optimizer").get<double>("max_grad_norm");
  plan.metrics_every = plan.timeline.to_steps(metrics, "every");
  plan.progress_every = plan.timeline.to_steps(metrics, "progress_every");
  plan.checkpoint_every = checkpoint_period(checkpoint, plan.timeline);
  plan.keep_last = checkpoint.get<int64_t>("keep_last");
  plan.max_minutes = run.find<double>("max_minutes");
  return plan;
}

}  // namespace exprun
