#include "engine/record/tensorboard_recorder.h"

#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/log.h"

namespace exprun {

LiveEventFile::LiveEventFile(const std::filesystem::path& folder) {
  try {
    file_.emplace(folder, static_cast<double>(now_ms()) / 1e3);
  } catch (const std::exception& error) {
    warn_once(error);
  }
}

void LiveEventFile::write(const std::function<void(EventFile&)>& what) try {
  if (file_) what(*file_);
} catch (const std::exception& error) {
  warn_once(error);
}

void LiveEventFile::warn_once(const std::exception& error) {
  if (!warned_.exchange(true))
    log_warning(std::string(error.what()) +
                ". Training continues, but the TensorBoard file lacks the values that could not be "
                "written (`exprun export RUN --tensorboard DIR` writes all values from the store)");
}

namespace {

double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

}  // namespace

TensorboardRecorder::TensorboardRecorder(
    LiveEventFile& file, int64_t metrics_every,
    const std::vector<std::pair<std::string, HyperParameter>>& parameters,
    const std::vector<std::string>& metrics)
    : file_(file), metrics_every_(metrics_every) {
  file_.write([&](EventFile& events) { events.hyper_parameters(now(), parameters, metrics); });
}

void TensorboardRecorder::step(const StepRecord& record) {
  if (record.step % metrics_every_ != 0) return;
  file_.write([&, seconds = now()](EventFile& events) {
    events.scalar(seconds, record.step, "train/loss", record.loss);
    events.scalar(seconds, record.step, "lr", record.lr);
    events.scalar(seconds, record.step, "grad_norm", record.grad_norm);
    events.scalar(seconds, record.step, "tokens_per_s",
                  static_cast<double>(record.tokens) / record.seconds);
    if (record.skipped_updates)
      events.scalar(seconds, record.step, "skipped_updates",
                    static_cast<double>(*record.skipped_updates));
    if (record.passed_over_batches)
      events.scalar(seconds, record.step, "passed_over_batches",
                    static_cast<double>(*record.passed_over_batches));
  });
}

void TensorboardRecorder::evaluation(int64_t step, const std::string& name,
                                     const EvaluationResult& result) {
  file_.write([&, seconds = now()](EventFile& events) {
    for (const auto& [metric, value] : result.metrics) events.scalar(seconds, step, metric, value);
    if (!result.text.empty()) events.text(seconds, step, name, result.text);
  });
}

}  // namespace exprun
