#include "engine/record/system_recorder.h"

#include "base/clock.h"
#include "base/log.h"
#include "engine/device/device.h"

namespace exprun {
namespace {

void add_gpu_memory(std::vector<std::pair<std::string, double>>& values, at::Device device) {
  if (device.is_cpu()) return;
  const DeviceMemory memory = device_memory(device);
  values.emplace_back("system/torch_allocated_bytes", memory.allocated);
  values.emplace_back("system/torch_reserved_bytes", memory.reserved);
  values.emplace_back("system/torch_peak_bytes", memory.peak);
}

}  // namespace

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
  auto values = usage_->read();
  add_gpu_memory(values, settings_.device);
  std::vector<MetricWriter::Point> points;
  for (const auto& [name, value] : values) points.push_back({metrics_.series(name, true), value});
  metrics_.post(step, points);
  if (!settings_.events) return;
  settings_.events->write([&, seconds = static_cast<double>(now_ms()) / 1e3](EventFile& events) {
    for (const auto& [name, value] : values) events.scalar(seconds, step, name, value);
  });
} catch (const std::exception& error) {
  log(LogLevel::debug, std::string("system metrics: ") + error.what());
}

}  // namespace exprun
