#include "engine/tensorboard_recorder.h"

#include <chrono>

namespace exprun {
namespace {

double now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

}  // namespace

TensorboardRecorder::TensorboardRecorder(
    EventFile& file, int64_t metrics_every,
    const std::vector<std::pair<std::string, HyperParameter>>& parameters,
    const std::vector<std::string>& metrics)
    : file_(file), metrics_every_(metrics_every) {
  file_.hyper_parameters(now(), parameters, metrics);
}

void TensorboardRecorder::step(const StepRecord& record) {
  if (record.step % metrics_every_ != 0) return;
  const double seconds = now();
  file_.scalar(seconds, record.step, "train/loss", record.loss);
  file_.scalar(seconds, record.step, "lr", record.lr);
  file_.scalar(seconds, record.step, "grad_norm", record.grad_norm);
  file_.scalar(seconds, record.step, "tokens_per_s",
               static_cast<double>(record.tokens) / record.seconds);
}

void TensorboardRecorder::evaluation(int64_t step, const std::string& name,
                                     const EvaluationResult& result) {
  for (const auto& [metric, value] : result.metrics) file_.scalar(now(), step, metric, value);
  if (!result.text.empty()) file_.text(now(), step, name, result.text);
}

}  // namespace exprun
