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
  // The first reading is of the start: opening the GPUs' library takes a while.
  const int64_t step = usage_ ? step_.load() : settings_.first_step;
  if (!usage_) usage_.emplace(settings_.run_folder);
  std::vector<MetricWriter::Point> points;
  for (const auto& [name, value] : usage_->read()) {
    points.push_back({metrics_.series(name, true), value});
    if (settings_.events)
      settings_.events->scalar(static_cast<double>(now_ms()) / 1e3, step, name, value);
  }
  metrics_.post(step, points);
} catch (const std::exception& error) {
  log(LogLevel::debug, std::string("system metrics: ") + error.what());
}

}  // namespace exprun
