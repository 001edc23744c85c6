#include "engine/trainer.h"

#include <ATen/core/grad_mode.h>

#include <cmath>

#include "base/number.h"

namespace exprun {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kBestMetric = "val/loss";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string divergence(const StepResult& result, int64_t step) {
  const bool loss = !std::isfinite(result.loss);
  return std::string(loss ? "the loss" : "the gradient norm") + " of step " + std::to_string(step) +
         " is " + shortest(loss ? result.loss : result.grad_norm) + "; the update was not made";
}

}  // namespace

Trainer::Trainer(const Pipeline& pipeline, TrainerLinks links)
    : pipeline_(pipeline),
      links_(std::move(links)),
      step_(pipeline, [this] { return stopping(); }) {}

TrainingResult Trainer::run(Position start) {
  using End = TrainingResult::End;
  position_ = std::move(start);
  started_ = saved_at_ = Clock::now();
  int64_t saved_step = position_.step;
  for (;;) {
    if (!evaluate_due()) return finish(End::stopped);
    if (position_.step >= pipeline_.plan.timeline.steps) return finish(End::finished);
    if (position_.step != saved_step && saving_is_due()) {
      links_.saver->save(pipeline_, position_);
      saved_step = position_.step;
      saved_at_ = Clock::now();
    }
    if (stopping()) return finish(End::stopped);
    const StepResult::End end = update();
    if (end == StepResult::End::stopped) return finish(End::stopped);
    if (end == StepResult::End::diverged) return finish(End::diverged);
  }
}

bool Trainer::stopping() {
  const auto& limit = pipeline_.plan.max_minutes;
  if (stop_ == StopRequest::none) stop_ = links_.stop_requested();
  if (stop_ == StopRequest::none && limit && seconds_since(started_) > *limit * 60)
    stop_ = StopRequest::preempt;
  return stop_ != StopRequest::none;
}

bool Trainer::is_due(const NamedEvaluation& named) const {
  const int64_t step = position_.step;
  if (position_.evaluated.count(named.name)) return false;
  if (step == 0) return named.evaluation->before_training();
  return step % named.every == 0 || step == pipeline_.plan.timeline.steps;
}

bool Trainer::evaluate_due() {
  for (const NamedEvaluation& named : pipeline_.evaluations)
    if (is_due(named) && !evaluate(named)) return false;
  return true;
}

bool Trainer::evaluate(const NamedEvaluation& named) {
  const at::NoGradGuard no_grad;
  const RunPlan& plan = pipeline_.plan;
  pipeline_.model().set_training(false);
  const EvaluationContext context{pipeline_.model(),
                                  *pipeline_.dataset,
                                  pipeline_.tokenizer.get(),
                                  position_.step,
                                  plan.seed,
                                  plan.batch.micro_batch,
                                  plan.batch.sequence_length,
                                  [this] { return stopping(); },
                                  [this](Split split, int64_t first, int64_t count) {
                                    return pipeline_.read(split, first, count);
                                  }};
  const auto result = named.evaluation->evaluate(context);
  if (!result) return false;
  links_.keep_kernel_choices();
  links_.recorder.evaluation(position_.step, named.name, *result);
  track_best(*result);
  position_.evaluated.insert(named.name);
  return true;
}

void Trainer::track_best(const EvaluationResult& result) {
  for (const auto& [metric, value] : result.metrics) {
    if (metric != kBestMetric || !std::isfinite(value)) continue;
    if (!position_.best || value < position_.best->value)
      position_.best = Best{value, position_.step};
  }
}

StepResult::End Trainer::update() {
  const auto start = Clock::now();
  const StepResult result = step_.run(position_.step);
  if (result.end == StepResult::End::stopped) return result.end;
  if (!kernels_kept_) links_.keep_kernel_choices();
  kernels_kept_ = true;
  record(result, seconds_since(start));
  if (result.end == StepResult::End::diverged) {
    message_ = divergence(result, position_.step + 1);
    return result.end;
  }
  ++position_.step;
  position_.evaluated.clear();
  return result.end;
}

void Trainer::record(const StepResult& result, double seconds) {
  links_.recorder.step({position_.step + 1, result.loss, result.lr, result.grad_norm, seconds,
                        pipeline_.plan.batch.tokens()});
}

bool Trainer::saving_is_due() const {
  if (!links_.saver) return false;
  const Period& every = pipeline_.plan.checkpoint_every;
  if (every.unit == PeriodUnit::seconds) return seconds_since(saved_at_) >= every.count;
  return position_.step % static_cast<int64_t>(every.count) == 0;
}

TrainingResult Trainer::finish(TrainingResult::End end) {
  if (links_.saver && end != TrainingResult::End::diverged && position_.step > 0)
    links_.saver->save_last(pipeline_, position_);
  return {end, stop_, position_, message_};
}

}  // namespace exprun
