#include "engine/record/progress.h"

#include <utility>

#include "base/humane.h"
#include "base/log.h"
#include "base/number.h"

namespace exprun {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr double kSmoothing = 0.1;  // weight of the newest step
constexpr int64_t kFirstSteps = 2;  // not smoothed over: kernels are being chosen

LogLevel level_named(const std::string& level) {
  if (level == "error") return LogLevel::error;
  return level == "warning" ? LogLevel::warning : LogLevel::info;
}

}  // namespace

Progress::Progress(const Pipeline& pipeline) : pipeline_(pipeline), last_(Clock::now()) {}

Progress::~Progress() {
  show_progress_line("");
}

double Progress::seconds_since_last() {
  const auto now = Clock::now();
  return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
}

// In updates and in evaluations: that of this step, if it has one, and of all to come. One is at
// the end.
double Progress::seconds_left(int64_t step) const {
  const int64_t steps = pipeline_.plan.timeline.steps;
  double seconds = static_cast<double>(steps - step) * step_seconds_;
  for (const NamedEvaluation& named : pipeline_.evaluations) {
    const auto last = evaluation_seconds_.find(named.name);
    if (last == evaluation_seconds_.end()) continue;
    const int64_t left = (steps - 1) / named.every - (step - 1) / named.every + 1;
    seconds += last->second * static_cast<double>(left);
  }
  return seconds;
}

void Progress::step(const StepRecord& record) {
  seconds_since_last();
  const bool early = tokens_ < static_cast<double>(kFirstSteps * record.tokens);
  step_seconds_ += (record.seconds - step_seconds_) * (early ? 1 : kSmoothing);
  training_seconds_ += record.seconds;
  tokens_ += static_cast<double>(record.tokens);
  if (!has_progress_line()) {
    if (record.step % pipeline_.plan.progress_every == 0) log_info(line(record));
    return;
  }
  if (Clock::now() - shown_at_ < kRedraw && record.step != pipeline_.plan.timeline.steps) return;
  shown_at_ = Clock::now();
  show_progress_line(line(record));
}

std::string Progress::line(const StepRecord& record) const {
  const auto rate = static_cast<int64_t>(static_cast<double>(record.tokens) / step_seconds_);
  return "step " + std::to_string(record.step) + "/" +
         std::to_string(pipeline_.plan.timeline.steps) + "  loss " + fixed(record.loss, 4) + "  " +
         with_thousands(rate) + " tokens/s  ETA " + duration(seconds_left(record.step));
}

void Progress::evaluation(int64_t step, const std::string& name, const EvaluationResult& result) {
  evaluation_seconds_[name] = seconds_since_last();
  for (const auto& [metric, value] : result.metrics) {
    log_info("step " + std::to_string(step) + ": " + metric + " " + fixed(value, 4));
    if (metric == "val/loss") last_val_loss_ = value;
  }
  if (!result.problem.empty())
    log_info("step " + std::to_string(step) + ": " + name + ": " + result.problem);
  if (!result.text.empty())
    log_info(name + " at step " + std::to_string(step) + ":\n" + result.text);
}

void Progress::event(const std::string& level, const std::string&, const std::string& text) {
  log(level_named(level), text);
}

double Progress::tokens_per_second() const {
  return training_seconds_ > 0 ? tokens_ / training_seconds_ : 0;
}

}  // namespace exprun
