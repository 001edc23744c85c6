#include "engine/run_plan.h"

#include <cmath>

#include "engine/precision/precision.h"

namespace exprun {
namespace {

int64_t run_steps(const Section& run, const Timeline& timeline) {
  if (const auto steps = run.find<int64_t>("steps")) return *steps;
  return timeline.to_steps(run, "length");
}

double lr_scale(const Section& optimizer, const BatchShape& batch) {
  const auto rule = optimizer.get<std::string>("lr_scaling");
  if (rule == "none") return 1;
  const double ratio = static_cast<double>(batch.tokens()) /
                       static_cast<double>(optimizer.get<int64_t>("lr_reference_tokens"));
  return rule == "sqrt" ? std::sqrt(ratio) : ratio;
}

std::optional<double> expected_initial_loss(const ResolvedRecipe& recipe) {
  const Section run = recipe.section("run");
  if (!run.has("expect_initial_loss")) return std::nullopt;
  if (!run.holds<std::string>("expect_initial_loss")) return run.get<double>("expect_initial_loss");
  const auto vocabulary = recipe.section("model").find<int64_t>("vocab_size");
  return vocabulary ? std::optional(std::log(static_cast<double>(*vocabulary))) : std::nullopt;
}

BestRule best_rule(const Section& run) {
  BestRule best{run.get<std::string>("best_metric"),
                run.get<std::string>("best_goal") == "maximize"};
  if (!run.has("early_stop")) return best;
  const Section early_stop = run.table("early_stop");
  best.patience = early_stop.get<int64_t>("patience");
  best.min_delta = early_stop.get<double>("min_delta");
  return best;
}

Period checkpoint_period(const Section& checkpoint, const Timeline& timeline) {
  const auto period = checkpoint.get<Period>("every");
  if (period.unit == PeriodUnit::seconds) return period;
  return {static_cast<double>(timeline.to_steps(checkpoint, "every")), PeriodUnit::steps};
}

int64_t desync_check_every(const Section& parallelism, const Timeline& timeline) {
  const auto period = parallelism.find<Period>("desync_check");
  return period ? timeline.to_steps(parallelism, "desync_check") : 0;
}

}  // namespace

BatchShape batch_shape(const ResolvedRecipe& recipe) {
  const Section batch = recipe.section("batch");
  BatchShape shape;
  shape.sequence_length = batch.get<int64_t>("sequence_length");
  shape.micro_batch = batch.get<int64_t>("micro_batch");
  const auto sequences = batch.find<int64_t>("sequences");
  shape.sequences = sequences ? *sequences : batch.get<int64_t>("tokens") / shape.sequence_length;
  const bool stays = recipe.section("run").get<bool>("overfit_single_batch");
  shape.stride = stays ? 0 : shape.sequences;
  return shape;
}

int64_t checkpoints_after(const RunPlan& plan, int64_t step) {
  const int64_t steps = plan.timeline.steps;
  if (plan.checkpoint_every.unit == PeriodUnit::seconds) return steps - step;
  const auto every = static_cast<int64_t>(plan.checkpoint_every.count);
  return (steps + every - 1) / every - step / every;
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
  plan.lr_scale = lr_scale(recipe.section("optimizer"), plan.batch);
  plan.scales_loss = Precision::read(recipe.section("precision")).compute == at::kHalf;
  plan.expected_initial_loss = expected_initial_loss(recipe);
  plan.begins_with_weights = recipe.section("model").has("init_from");
  plan.best = best_rule(run);
  plan.divergence = DivergenceRule::read(run);
  plan.timers = metrics.get<bool>("timers");
  plan.metrics_every = plan.timeline.to_steps(metrics, "every");
  plan.progress_every = plan.timeline.to_steps(metrics, "progress_every");
  plan.system_every = std::chrono::duration<double>(metrics.get<Period>("system_every").count);
  plan.checkpoint_every = checkpoint_period(checkpoint, plan.timeline);
  plan.desync_check_every = desync_check_every(recipe.section("parallelism"), plan.timeline);
  plan.keep_last = checkpoint.get<int64_t>("keep_last");
  plan.keep_best = checkpoint.get<std::string>("keep_best") == plan.best.metric;
  plan.max_minutes = run.find<double>("max_minutes");
  return plan;
}

}  // namespace exprun
