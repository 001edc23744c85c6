#include "engine/trainer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <cmath>

#include "base/diagnostic.h"
#include "base/format_units.h"
#include "base/log.h"
#include "base/strings.h"
#include "engine/inference/evaluate_run.h"

namespace exprun {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string overflow(double scale, int64_t step) {
  return "gradients of step " + std::to_string(step) +
         " overflowed fp16; the step was computed again with loss scale " + shortest(scale);
}

std::string early_stop(const BestRule& rule, const Position& position) {
  return "ended early at step " + std::to_string(position.step) + ": " + rule.metric +
         " has not improved" +
         (rule.min_delta > 0 ? " by more than " + shortest(rule.min_delta) : "") + " in " +
         pluralize(position.without_improvement, "evaluation") +
         (position.best ? "; its best is " + fixed(position.best->value, 4) + " at step " +
                              std::to_string(position.best->step)
                        : "");
}

// What some rank wants, all do; of several wishes the first in the order of StopRequest.
StopRequest agreed(ProcessGroup& group, StopRequest wish) {
  if (group.world_size() == 1) return wish;
  std::vector<double> wishes(static_cast<size_t>(StopRequest::preempt) + 1);
  wishes[static_cast<size_t>(wish)] = 1;
  wishes = sum_over_ranks(group, wishes);
  const auto found = std::find_if(wishes.begin() + 1, wishes.end(), [](double n) { return n > 0; });
  return found == wishes.end() ? StopRequest::none
                               : static_cast<StopRequest>(found - wishes.begin());
}

// Clocks differ, so one decides.
bool rank_0_says(ProcessGroup& group, bool what) {
  return from_rank_0(group, {what ? 1.0 : 0.0})[0] > 0;
}

// An evaluation may compute on each rank for itself, and machines round differently: where a value
// decides, it must be the same on all.
void take_metrics_of_rank_0(ProcessGroup& group, EvaluationResult& result) {
  if (group.world_size() == 1) return;
  std::vector<double> values;
  for (const auto& [metric, value] : result.metrics) values.push_back(value);
  values = from_rank_0(group, std::move(values));
  for (size_t i = 0; i < values.size(); ++i) result.metrics[i].second = values[i];
}

bool has_finite_weights(const Pipeline& pipeline) {
  const at::NoGradGuard no_grad;
  pipeline.optimizers().await_values();
  bool finite = true;
  for (const auto& [name, tensor] : pipeline.optimizers().parameter_tensors())
    finite = finite && at::isfinite(tensor).all().item<bool>();
  return sum_over_ranks(*pipeline.group, {finite ? 0.0 : 1.0})[0] == 0;
}

}  // namespace

Trainer::Trainer(const Pipeline& pipeline, TrainerLinks links)
    : pipeline_(pipeline),
      links_(std::move(links)),
      step_(
          pipeline, [this] { return stopping(); },
          [this](const StepResult& result) { return !divergence(result).empty(); }) {}

std::string Trainer::divergence(const StepResult& result) const {
  return divergence_of(pipeline_.plan.divergence, position_.divergence,
                       {result.loss, result.grad_norm}, position_.step + 1);
}

TrainingResult Trainer::run(Position start) {
  using End = TrainingResult::End;
  position_ = std::move(start);
  started_ = saved_at_ = Clock::now();
  step_.set_loss_scale(position_.loss_scale);
  step_.set_optimizer_start(position_.optimizer_start);
  saved_step_ = position_.step;
  // A fork's checkpoints begin here.
  if (rolls_back() && !position_.divergence.rollback_step && position_.step > 0)
    position_.divergence.rollback_step = position_.step;
  for (;;) {
    if (!evaluate_due()) return finish(End::stopped);
    if (position_.step >= pipeline_.plan.timeline.steps) return finish(End::finished);
    if (is_out_of_patience()) {
      if (!evaluate_due()) return finish(End::stopped);  // those that come at the end
      message_ = early_stop(pipeline_.plan.best, position_);
      return finish(End::finished);
    }
    if (saving_is_due()) save();
    if (stopping()) return finish(End::stopped);
    const StepResult::End end = update();
    if (end == StepResult::End::stopped) return finish(End::stopped);
    if (end == StepResult::End::diverged) return finish(End::diverged);
  }
}

bool Trainer::stopping() {
  if (stop_ == StopRequest::none) stop_ = agreed(*pipeline_.group, wish_to_stop());
  return stop_ != StopRequest::none;
}

StopRequest Trainer::wish_to_stop() const {
  const auto& limit = pipeline_.plan.max_minutes;
  const StopRequest request = links_.stop_requested();
  const bool is_late = limit && seconds_since(started_) > *limit * 60;
  if (request != StopRequest::none || !is_late) return request;
  if (pipeline_.group->rank() == 0) log_info("run.max_minutes is over: saving and stopping");
  return StopRequest::preempt;
}

bool Trainer::is_due(const NamedEvaluation& named) const {
  const int64_t step = position_.step;
  if (position_.evaluated.count(named.name)) return false;
  if (step == 0) return named.evaluation->before_training();
  return step % named.every == 0 || step == pipeline_.plan.timeline.steps || is_out_of_patience();
}

bool Trainer::evaluate_due() {
  for (const NamedEvaluation& named : pipeline_.evaluations)
    if (is_due(named) && !evaluate(named)) return false;
  return true;
}

bool Trainer::evaluate(const NamedEvaluation& named) {
  const at::NoGradGuard no_grad;
  pipeline_.model().set_training(false);
  pipeline_.optimizers().await_values();  // an evaluation announces no use of them
  std::optional<WeightAverage::InPlace> averaged;
  if (const auto& average = pipeline_.train_state.average) averaged.emplace(*average);
  auto context = context_of(pipeline_, position_.step, [this] { return stopping(); });
  context.report = [&](const WorkDone& done) {
    links_.recorder.evaluating(position_.step, named.name, done);
  };
  auto result = exprun::evaluate(named, context);
  if (!result) return false;
  take_metrics_of_rank_0(*pipeline_.group, *result);
  links_.keep_kernel_choices();
  links_.recorder.evaluation(position_.step, named.name, *result);
  track_best(*result);
  position_.evaluated.insert(named.name);
  return true;
}

void Trainer::track_best(const EvaluationResult& result) {
  const BestRule& rule = pipeline_.plan.best;
  for (const auto& [metric, value] : result.metrics) {
    if (metric != rule.metric) continue;
    ++position_.without_improvement;
    if (!std::isfinite(value)) continue;
    if (!position_.best || rule.is_better(value, position_.best->value)) {
      position_.best = Best{value, position_.step};
      best_is_unsaved_ = true;
    }
    if (position_.improved_to && !rule.improves(value, *position_.improved_to)) continue;
    position_.improved_to = value;
    position_.without_improvement = 0;
  }
}

bool Trainer::is_out_of_patience() const {
  const BestRule& rule = pipeline_.plan.best;
  return rule.patience > 0 && position_.without_improvement >= rule.patience;
}

StepResult::End Trainer::update() {
  const auto start = Clock::now();
  const StepResult result = step_.run(position_.step, position_.divergence.passed_over);
  if (result.end == StepResult::End::stopped) return result.end;
  if (!kernels_kept_) links_.keep_kernel_choices();
  kernels_kept_ = true;
  const bool diverged = result.end == StepResult::End::diverged;
  const std::string cause = diverged ? divergence(result) : "";
  const bool skips = diverged && may_skip();
  remember(pipeline_.plan.divergence, {result.loss, result.grad_norm}, position_.divergence);
  if (skips) skip(cause);
  if (!diverged) position_.divergence.skipped_in_row = 0;
  record(result, seconds_since(start));
  if (diverged && !skips) {
    if (roll_back(cause)) return StepResult::End::completed;
    message_ = cause + "; the update was not applied" + limit_of_policy();
    return result.end;
  }
  ++position_.step;
  position_.evaluated.clear();
  require_equal_replicas();
  const double scale = step_.loss_scale().value;
  if (scale < position_.loss_scale.value)
    links_.recorder.event("info", "loss_scale", overflow(scale, position_.step));
  position_.loss_scale = step_.loss_scale();
  return StepResult::End::completed;
}

bool Trainer::may_skip() const {
  const DivergenceRule& rule = pipeline_.plan.divergence;
  return rule.policy == OnDivergence::skip &&
         position_.divergence.skipped_in_row < rule.most_in_row;
}

// Weights, the optimizer's state and its count of updates stay as they are, and so does the loss
// scale.
void Trainer::skip(const std::string& cause) {
  DivergenceState& state = position_.divergence;
  ++state.skipped;
  ++state.skipped_in_row;
  step_.set_loss_scale(position_.loss_scale);
  step_.set_optimizer_start(++position_.optimizer_start);
  links_.recorder.event(
      "warning", "divergence",
      cause + "; the update was skipped" +
          offer_of_data("--step " + std::to_string(position_.step + 1), "its data"));
}

std::string Trainer::offer_of_data(const std::string& which, const std::string& what) const {
  if (links_.run_words.empty()) return "";
  return "; `exprun data head --run " + links_.run_words + " " + which + "` prints " + what;
}

bool Trainer::rolls_back() const {
  return links_.saver && pipeline_.plan.divergence.policy == OnDivergence::rollback;
}

// Only the batch of this step would be too little: what made the weights go wrong may have come
// before it. All that follows from the checkpoint alone, so that a run that is killed and resumed
// from it comes to the same.
bool Trainer::roll_back(const std::string& cause) {
  const DivergenceState before = position_.divergence;
  if (!rolls_back() || !before.rollback_step) return false;
  if (before.rollbacks >= pipeline_.plan.divergence.most_in_row) return false;
  auto position = links_.saver->roll_back(pipeline_, *before.rollback_step);
  if (!position) return false;
  const int64_t batches = position_.step + 1 - position->step;
  const int64_t last_batch = position_.step + before.passed_over + 1;
  position->divergence.passed_over = before.passed_over + batches;
  position->divergence.rollbacks = before.rollbacks + 1;
  position->divergence.rollback_step = position->step;
  position_ = std::move(*position);
  best_is_unsaved_ = false;
  step_.set_loss_scale(position_.loss_scale);
  step_.set_optimizer_start(position_.optimizer_start);
  links_.recorder.rolled_back(position_);
  links_.recorder.event(
      "warning", "divergence",
      cause + "; the run goes back to step " + std::to_string(position_.step) +
          " and passes over the data of " + pluralize(batches, "step") +
          offer_of_data("--batch " + std::to_string(last_batch), "those of the last"));
  return true;
}

std::string Trainer::limit_of_policy() const {
  const DivergenceState& state = position_.divergence;
  const std::string limit = " as run.divergence.max_in_row allows";
  if (state.skipped_in_row > 0)
    return ": the " + pluralize(state.skipped_in_row, "update") + " before it " +
           (state.skipped_in_row == 1 ? "was" : "were") + " skipped, as many in a row" + limit;
  if (state.rollbacks > 0)
    return ": the run has gone back " +
           (state.rollbacks == 1 ? "once" : std::to_string(state.rollbacks) + " times") +
           " to step " + std::to_string(*state.rollback_step) + ", as often" + limit;
  return "";
}

void Trainer::require_equal_replicas() {
  const int64_t every = pipeline_.plan.desync_check_every;
  const bool due = !replicas_compared_ || (every > 0 && position_.step % every == 0);
  if (pipeline_.group->world_size() == 1 || !due) return;
  replicas_compared_ = true;
  std::string ranks;
  for (const int rank : pipeline_.optimizers().ranks_that_differ())
    ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
  if (ranks.empty()) return;
  throw Error("dist: after step " + std::to_string(position_.step) + " the parameters of rank " +
              ranks +
              " differ from those of rank 0; if this happens again, check for faulty memory and "
              "for libraries that differ between the machines");
}

void Trainer::record(const StepResult& result, double seconds) {
  const DivergenceState& state = position_.divergence;
  const OnDivergence policy = pipeline_.plan.divergence.policy;
  const auto if_counted = [](bool counted, int64_t count) {
    return counted ? std::optional(count) : std::nullopt;
  };
  links_.recorder.step(
      {position_.step + 1, result.loss, result.lr, result.grad_norm, seconds, result.tokens,
       result.times, if_counted(policy == OnDivergence::skip, state.skipped),
       // A fork goes on after what its origin has passed over.
       if_counted(policy == OnDivergence::rollback || state.passed_over > 0, state.passed_over)});
}

// Saved where the recipe asks for it: a run that goes back goes to no other checkpoint.
bool Trainer::is_saved() const {
  if (rolls_back()) return position_.divergence.rollback_step == position_.step;
  return position_.step == saved_step_;
}

bool Trainer::saving_is_due() const {
  if (!links_.saver) return false;
  if (keeps_new_best()) return true;
  if (is_saved()) return false;
  const Period& every = pipeline_.plan.checkpoint_every;
  if (every.unit == PeriodUnit::seconds)
    return rank_0_says(*pipeline_.group, seconds_since(saved_at_) >= every.count);
  return position_.step % static_cast<int64_t>(every.count) == 0;
}

void Trainer::save() {
  if (rolls_back()) {
    if (!has_finite_weights(pipeline_))
      return links_.recorder.event("warning", "divergence",
                                   "the weights after step " + std::to_string(position_.step) +
                                       " are not finite; no checkpoint was saved");
    position_.divergence.rollback_step = position_.step;
    position_.divergence.rollbacks = 0;
  }
  links_.saver->save(pipeline_, position_);
  saved_step_ = position_.step;
  best_is_unsaved_ = false;
  saved_at_ = Clock::now();
}

// The same on all ranks, as the metrics are. Fine-tuning may only get worse; weights that begin at
// random are not worth a checkpoint.
bool Trainer::keeps_new_best() const {
  const RunPlan& plan = pipeline_.plan;
  if (!plan.keep_best || !best_is_unsaved_ || position_.best->step != position_.step) return false;
  return position_.step > 0 || plan.begins_with_weights;
}

TrainingResult Trainer::finish(TrainingResult::End end) {
  pipeline_.optimizers().await_values();  // others still give them
  if (links_.saver && end != TrainingResult::End::diverged && position_.step > 0)
    links_.saver->save_last(pipeline_, position_);
  return {end, stop_, position_, message_};
}

}  // namespace exprun
