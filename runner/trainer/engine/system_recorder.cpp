#include "engine/system_recorder.h"

#include "base/clock.h"
#include "base/log.h"

namespace exprun {

SystemRecorder::SystemRecorder(MetricWriter& metrics, Settings settings)
    : metrics_(metrics),
      settings_(std::move(settings)),
      step_(settings_.first_step),
      thread_(settings_.period, [this] { record(); }) {}

// Whatever goes wrong here is no reason to end a run.
void SystemRecorder::record() try {
  if (!usage_)
    usage_.emplace(settings_.run_folder);  // opens the GPUs' library, which takes a while
  if (!file_ && settings_.tensorboard)
    file_.emplace(*settings_.tensorboard, static_cast<double>(now_ms()) / 1e3);
  const int64_t step = step_;
  std::vector<MetricWriter::Point> points;
  for (const auto& [name, value] : usage_->read()) {
    points.push_back({metrics_.series(name, true), value});
    if (file_) file_->scalar(static_cast<double>(now_ms()) / 1e3, step, name, value);
  }
  metrics_.post(step, points);
} catch (const std::exception& error) {
  log(LogLevel::debug, std::string("system metrics: ") + error.what());
}

}  // namespace exprun
