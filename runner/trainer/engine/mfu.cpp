#include "engine/mfu.h"

#include <array>
#include <cstdio>
#include <utility>

namespace exprun {

std::string Mfu::text(double tokens_per_second) const {
  char text[96];
  std::snprintf(text, sizeof text, "MFU %.1f %% (convention P, peak %.4g TFLOP/s)",
                100 * of(tokens_per_second), peak_flops / 1e12);
  return text;
}

// The first name that the device's contains.
std::optional<double> known_peak_flops(std::string_view device) {
  static constexpr std::pair<std::string_view, double> kDevices[] = {
      {"H100 PCIe", 756e12}, {"H100", 989e12}, {"H200", 989e12}, {"A100", 312e12}};
  for (const auto& [name, peak] : kDevices)
    if (device.find(name) != std::string_view::npos) return peak;
  return std::nullopt;
}

MfuRecorder::MfuRecorder(MetricWriter& metrics, int64_t metrics_every, Mfu mfu)
    : metrics_(metrics),
      metrics_every_(metrics_every),
      mfu_(mfu),
      series_(metrics.series("mfu", true)) {}

void MfuRecorder::step(const StepRecord& record) {
  if (record.step % metrics_every_ != 0) return;
  const std::array<MetricWriter::Point, 1> points{
      {{series_, mfu_.of(static_cast<double>(record.tokens) / record.seconds)}}};
  metrics_.push(record.step, points);
}

}  // namespace exprun
