#include "engine/progress.h"

#include <cstdio>

#include "base/humane.h"
#include "base/log.h"
#include "base/number.h"

namespace exprun {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr double kSmoothing = 0.1;  // weight of the newest step
constexpr int64_t kFirstSteps = 2;  // not smoothed over: kernels are being chosen

std::string fixed(double value, int digits) {
  if (std::isnan(value)) return "nan";  // whatever its sign bit
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

LogLevel level_named(const std::string& level) {
  if (level == "error") return LogLevel::error;
  return level == "warning" ? LogLevel::warning : LogLevel::info;
}

}  // namespace

Progress::Progress(const RunPlan& plan) : plan_(plan) {}

Progress::~Progress() {
  show_progress_line("");
}

void Progress::step(const StepRecord& record) {
  const bool early = tokens_ < static_cast<double>(kFirstSteps * record.tokens);
  step_seconds_ += (record.seconds - step_seconds_) * (early ? 1 : kSmoothing);
  training_seconds_ += record.seconds;
  tokens_ += static_cast<double>(record.tokens);
  if (!has_progress_line()) {
    if (record.step % plan_.progress_every == 0) log_info(line(record));
    return;
  }
  if (Clock::now() - shown_at_ < kRedraw && record.step != plan_.timeline.steps) return;
  shown_at_ = Clock::now();
  show_progress_line(line(record));
}

std::string Progress::line(const StepRecord& record) const {
  const auto rate = static_cast<int64_t>(static_cast<double>(record.tokens) / step_seconds_);
  const auto left = static_cast<double>(plan_.timeline.steps - record.step);
  return "step " + std::to_string(record.step) + "/" + std::to_string(plan_.timeline.steps) +
         "  loss " + fixed(record.loss, 4) + "  " + with_thousands(rate) + " tokens/s  ETA " +
         duration(left * step_seconds_);
}

void Progress::evaluation(int64_t step, const std::string& name, const EvaluationResult& result) {
  for (const auto& [metric, value] : result.metrics) {
    log_info("step " + std::to_string(step) + ": " + metric + " " + fixed(value, 4));
    if (metric == "val/loss") last_val_loss_ = value;
  }
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
